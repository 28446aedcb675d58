import { describe, expect, it } from 'vitest';
import { parkReasons } from '../../src/domain/delivery.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { parseStopInput } from '../../src/domain/order/input.js';
import { parseDiscardInput, parseParkedDeliveryInput, parseRouteInput } from '../../src/domain/parked.js';
import { parseCompanyReportInput } from '../../src/domain/report.js';
import { parseChangeRideInput, parseRequestRideInput, parseResolveRideInput } from '../../src/domain/ride/input.js';
import {
  parseEndInput,
  parseMoveInput,
  parseRotateInput,
  parseSubscriptionInput,
  toPublicUrl,
} from '../../src/domain/subscription/input.js';

const notify = [{ workflowId: 'trip/9', signal: 'changed' }];
const parked = {
  account: 'business',
  eventType: 'status_changed',
  deliveryId: '0f'.repeat(16),
  receivedAt: '2031-05-01T10:00:00.000Z',
  reason: 'noOrderId',
  sealed: 'SECRET',
};
const subscription = { account: 'business', eventType: 'status_changed', publicUrl: 'https://rides.example' };
const ride = { account: 'business', requestId: 'trip-9_a.b~c', order: { category: 'transportation' } };
const changeOfRide = { account: 'business', requestId: 'trip-9', change: 'cancelRide', argument: {} };

/** `more` are the fields that it may have. What is refused is named by its first field, unless other words are given. */
function describeInput(
  of: string,
  parse: (value: unknown) => unknown,
  least: object,
  more: object,
  refused: (object | [object, string])[],
): void {
  describe(`the input of ${of}`, () => {
    it('is read as it is, with what is optional left out, null or given', () => {
      expect(parse(least)).toEqual(least);
      const nulls = Object.fromEntries(Object.keys(more).map((field) => [field, null]));
      expect(parse({ ...least, ...nulls })).toEqual(least);
      expect(parse({ ...least, ...more })).toEqual({ ...least, ...more });
    });

    const changes = refused.map((one) => (Array.isArray(one) ? one : [one, String(Object.keys(one)[0])]));
    it.each(changes)('is refused by name, never by value: with %j it says %s', (change, words) => {
      const act = () => parse({ ...least, ...change });
      expect(act).toThrow(InvalidInput);
      expect(act).toThrow(words);
      expect(act).not.toThrow('SECRET');
    });

    const mayBeLeftOut = Object.keys(least).length === 0;
    const strange: { value: unknown }[] = [{ value: [] }, { value: 'x' }];
    it.each(mayBeLeftOut ? strange : [...strange, { value: null }, { value: undefined }])(
      'is not $value',
      ({ value }) => {
        expect(() => parse(value)).toThrow('must be a JSON object');
      },
    );
  });
}

describeInput('companyReport', parseCompanyReportInput, { account: 'business' }, { orderId: '4711', notify }, [
  ...[{ account: undefined }, { orderId: 'a/b' }, { notify: {} }],
  [{ order: '1' }, 'unknown field "order"'],
]);

describeInput('parkedDelivery', parseParkedDeliveryInput, parked, {}, [
  ...[{ account: 'Business' }, { eventType: 'status' }, { deliveryId: 'xyz' }, { receivedAt: 'now' }],
  ...[{ reason: '' }, { sealed: null }, { sealed: '' }],
  { aboutOrderId: 'a/b', sealed: '', reason: 'followingStopped' },
  [{ body: '{}' }, 'unknown field "body"'],
]);

describeInput('routeDelivery', parseRouteInput, { orderId: '4711' }, {}, [
  ...[{ orderId: undefined }, { orderId: '.' }, { reason: 'x' }],
]);

describeInput('discardDelivery', parseDiscardInput, { reason: 'x' }, {}, [{ reason: undefined }, { reason: '' }]);

describeInput('stopFollowing', parseStopInput, { reason: 'passenger called' }, {}, [
  ...['', 'SECRET'.repeat(40), 7, null, undefined].map((reason): [object, string] => [{ reason }, 'reason: ']),
  [{ why: 'y' }, 'unknown field "why"'],
]);

const allOfSubscription = { resubscribe: true, graceMs: 0, silence: { everyMs: 60_000, minOrders: 1 } };
describeInput('subscription', parseSubscriptionInput, subscription, allOfSubscription, [
  ...[{ account: 'Business!' }, { eventType: 'order_created' }, { publicUrl: 'http://rides.example' }],
  ...[{ graceMs: -1 }, { graceMs: 31 * 86_400_000 }, { graceMs: '5' }, { resubscribe: 'yes' }],
  [{ silence: { everyMs: 0 } }, 'silence.everyMs'],
  [{ silence: { minOrders: 0.5 } }, 'silence.minOrders'],
  [{ silence: { every: 1 } }, 'unknown field "every"'],
  [{ grace: 1 }, 'unknown field "grace"'],
]);

describeInput('rotateSubscription', parseRotateInput, {}, { graceMs: 5 }, [{ graceMs: 1.5 }]);

const moved = { publicUrl: 'https://b.example' };
describeInput('moveSubscription', parseMoveInput, moved, {}, [{ publicUrl: undefined }]);

describeInput('endSubscription', parseEndInput, { reason: 'moved away' }, {}, [
  ...[{ reason: undefined }, { reason: ' ' }, { force: true }],
]);

describeInput('requestRide', parseRequestRideInput, ride, { receipt: true, notify }, [
  ...[{ poll: 1 }, { account: 'Business' }, { requestId: 'a/b' }, { requestId: 'a'.repeat(101) }],
  ...[{ order: [] }, { order: {} }, { order: { note: 'x'.repeat(65_536) } }, { receipt: 'yes' }, { notify: {} }],
]);

describeInput('a change of a ride that is sent for a caller', parseChangeRideInput, changeOfRide, {}, [
  ...[{ argument: undefined }, { argument: [] }, { order: {} }, { change: 'toString' }],
  ...[{ account: 'Not A Name' }, { requestId: 'a/b' }],
  [{ argument: { reason: 'late' } }, 'reason'],
  [{ change: 'updateRide' }, 'order'],
  [{ change: 'resolveRide', argument: { tryAgain: false } }, 'tryAgain'],
]);

it('a number is taken for an order id', () => {
  expect(parseCompanyReportInput({ account: 'business', orderId: 4711 })).toMatchObject({ orderId: '4711' });
  expect(parseRouteInput({ orderId: 4711 })).toEqual({ orderId: '4711' });
});

it('a parked delivery has any of the reasons, and may lack a body where it names its order', () => {
  for (const reason of parkReasons) expect(parseParkedDeliveryInput({ ...parked, reason })).toMatchObject({ reason });
  const ofOrder = { ...parked, reason: 'followingStopped', aboutOrderId: '42', sealed: '' };
  expect(parseParkedDeliveryInput(ofOrder)).toEqual(ofOrder);
});

it('a subscription may leave parts of its silence unset, and a rotation its argument', () => {
  expect(parseSubscriptionInput({ ...subscription, silence: { everyMs: null } })).toMatchObject({ silence: {} });
  expect(parseRotateInput(undefined)).toEqual({});
});

describe('a resolution of a ride', () => {
  it.each([
    [{ orderId: 42, reason: null }, { orderId: '42' }],
    [{ tryAgain: true }, { tryAgain: true }],
    [
      { giveUp: true, reason: 'x' },
      { giveUp: true, reason: 'x' },
    ],
  ])('is one of three things: %j', (given, read) => {
    expect(parseResolveRideInput(given)).toEqual(read);
  });

  it.each([
    {},
    { tryAgain: false },
    { giveUp: true },
    { giveUp: true, reason: '' },
    { orderId: '1', tryAgain: true },
    { x: 1 },
  ])('is never none, two or another: %j', (given) => {
    expect(() => parseResolveRideInput(given)).toThrow(InvalidInput);
  });
});

it.each([
  ['updateRide', { order: { note_to_driver: 'blue door' } }],
  ['resolveRide', { orderId: 4711 }],
  ['resolveRide', { giveUp: true, reason: 'booked by phone' }],
])('a change of a ride may be %s of %j', (change, argument) => {
  expect(parseChangeRideInput({ ...changeOfRide, change, argument })).toEqual({ ...changeOfRide, change, argument });
});

describe('a public URL', () => {
  it.each([
    ['https://rides.example/', 'https://rides.example'],
    ['https://Rides.example:8443/base//', 'https://rides.example:8443/base'],
    ['http://127.0.0.1:8480', 'http://127.0.0.1:8480'],
    ['http://localhost:8480', 'http://localhost:8480'],
    ['http://[::1]:8480', 'http://[::1]:8480'],
  ])('%s is taken', (given, taken) => {
    expect(toPublicUrl(given)).toBe(taken);
    expect(parseMoveInput({ publicUrl: given })).toEqual({ publicUrl: taken });
  });

  it.each([
    'http://rides.example',
    'http://127.0.0.1.rides.example',
    'ftp://rides.example',
    'https://user:SECRET@rides.example',
    'https://rides.example?x=1',
    'https://rides.example#x',
    'https://rides.example/a b',
    `https://rides.example/${'a'.repeat(500)}`,
    'rides.example',
    '',
    7,
    null,
  ])('%s is refused, and not repeated in the message', (given) => {
    expect(() => toPublicUrl(given)).toThrow('publicUrl');
    expect(() => toPublicUrl(given)).not.toThrow('SECRET');
  });
});
