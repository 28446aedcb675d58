import { describe, expect, it } from 'vitest';
import { findCreatedOrder, isCancelled, isChanged, withDuplicatesAdded } from '../../src/contracts/call-reply.js';
import { defaultContractProfile as profile } from '../../src/contracts/default-contract-profile.js';

describe('the id of a created order', () => {
  it.each([
    [{ id: 42 }, '42'],
    [{ order: { id: 'a' } }, 'a'],
    [{ data: { id: 'b' } }, 'b'],
    [{ id: 'with/slash' }, undefined],
    [{ id: null }, undefined],
    [undefined, undefined],
  ])('in %j', (body, orderId) => {
    expect(findCreatedOrder(body, profile.pointers)).toBe(orderId);
  });
});

describe('what an order shows of a call', () => {
  it.each([
    [{ status: 'Cancelled' }, true],
    [{ order: { status: 'CANCELED' } }, true],
    [{ status: 'Driving' }, false],
    [{}, false],
  ])('%j: cancelled is %s', (body, is) => {
    expect(isCancelled(body, profile)).toBe(is);
  });

  it("knows the service's own word where the profile has it", () => {
    const statuses = { ...profile.statuses, endWords: { storniert: 'Cancelled' as const } };
    expect(isCancelled({ status: 'storniert' }, { ...profile, statuses })).toBe(true);
    expect(isCancelled({ status: 'storniert' }, profile)).toBe(false);
  });

  it.each<[object, object, boolean]>([
    [{ note: 'x', other: 1 }, { note: 'x' }, true],
    [{ note: 'y' }, { note: 'x' }, false],
    [{}, { note: 'x' }, false],
    [{ scheduled_at: '2031-05-01T10:00:00.000Z' }, { scheduled_at: '2031-05-01T12:00:00+02:00' }, true],
    [{ stops: [{ type: 'origin', progress_status: 'Pending' }] }, { stops: [{ type: 'origin' }] }, true],
    [{ stops: [{ type: 'origin' }, { type: 'destination' }] }, { stops: [{ type: 'origin' }] }, false],
  ])('%j after %j: changed is %s', (order, wanted, is) => {
    expect(isChanged({ order: { status: 'Reserved', ...order } }, wanted, profile)).toBe(is);
  });
});

describe('reference codes that were sent before', () => {
  const sent = [{ value: 'A1' }, { value: 'B2' }];

  const noErrors = [undefined, {}, { has_errors: false, data: [] }, { errors: 'none' }];
  const otherErrors = [[{ index: 0, code: 'TOO_LONG' }], [{ index: 7, code: 'DUPLICATE' }]];
  it.each([...noErrors, ...otherErrors.map((errors) => ({ errors }))])(
    'leave any other answer as it came: %j',
    (body) => {
      expect(withDuplicatesAdded(body, sent)).toEqual(body);
    },
  );

  it('count as added when the service says that their value exists', () => {
    const errors = [{ index: 1, code: 'VALIDATION_ERROR', field_errors: [{ field: 'value', code: 'ALREADY_EXISTS' }] }];
    expect(withDuplicatesAdded({ has_errors: true, errors }, sent)).toEqual({
      has_errors: false,
      data: [{ id: null, value: 'B2' }],
      errors: [],
    });
  });
});
