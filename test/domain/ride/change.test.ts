import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../../src/domain/errors.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { parseChangeRideInput } from '../../../src/domain/ride/input.js';
import { changeRideId } from '../../../src/domain/workflow-ids.js';

const key = { account: toAccountName('business'), requestId: 'trip-9' };

describe('the input of a change that is sent for a caller', () => {
  it.each([
    ['updateRide', { order: { note_to_driver: 'blue door' } }],
    ['cancelRide', {}],
    ['resolveRide', { orderId: 4711 }],
    ['resolveRide', { giveUp: true, reason: 'booked by phone' }],
  ])('is taken: %s of %j', (change, argument) => {
    expect(parseChangeRideInput({ ...key, change, argument })).toEqual({ ...key, change, argument });
  });

  it.each([
    [null],
    [{ ...key, change: 'cancelRide' }],
    [{ ...key, change: 'cancelRide', argument: [] }],
    [{ ...key, change: 'cancelRide', argument: {}, order: {} }],
    [{ ...key, change: 'cancelRide', argument: { reason: 'late' } }],
    [{ ...key, change: 'updateRide', argument: {} }],
    [{ ...key, change: 'resolveRide', argument: { tryAgain: false } }],
    [{ ...key, change: 'toString', argument: {} }],
    [{ ...key, account: 'Not A Name', change: 'cancelRide', argument: {} }],
    [{ ...key, requestId: 'a/b', change: 'cancelRide', argument: {} }],
  ])('is refused: %j', (input) => {
    expect(() => parseChangeRideInput(input)).toThrow(InvalidInput);
  });
});

describe('the id of such a change', () => {
  const changeId = '2cc1dbce-02e0-4885-a68a-88eb0a893842';

  it('has the spelling that other programs rely on', () => {
    expect(changeRideId({ ...key, changeId })).toBe(`change/business/trip-9/${changeId}`);
  });
});
