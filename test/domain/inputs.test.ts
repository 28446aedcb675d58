import { describe, expect, it } from 'vitest';
import { businessOperations, parseBusinessCallInput } from '../../src/domain/call.js';
import { parkReasons } from '../../src/domain/delivery.js';
import { cannotListen, InvalidInput } from '../../src/domain/errors.js';
import { checkProgress, parseNoInput, UndecodablePayload } from '../../src/domain/input-fields.js';
import { readJson } from '../../src/domain/json.js';
import { parseNoticesInput } from '../../src/domain/notify/notices.js';
import { store, toReceiver } from '../../src/domain/notify/receivers.js';
import { parseFollowOrderInput, parseFollowRequest, parseReasonInput } from '../../src/domain/order/input.js';
import { parseParkedDeliveryInput, parseRouteInput } from '../../src/domain/parked.js';
import { parseCompanyReportInput } from '../../src/domain/report.js';
import { parseChangeRideInput, parseRequestRideInput, parseResolveRideInput } from '../../src/domain/ride/input.js';
import {
  parseEndInput,
  parseMoveInput,
  parseRotateInput,
  parseSubscriptionInput,
} from '../../src/domain/subscription/subscription.js';
import { emptyLease, parseAccessTokenInput } from '../../src/domain/token-lease.js';
import { parseAccountWatchInput } from '../../src/domain/watch.js';

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

/** `more` are the optional fields. A change of `least` is refused with the words beside it, or else by its first field. */
function describeInput(
  of: string,
  parse: (value: unknown) => unknown,
  least: object,
  more: object,
  refused: (object | [object, string])[],
): void {
  describe(`the input of ${of}`, () => {
    it('is read as it is, with each optional field given, null or left out', () => {
      expect(parse({ ...least, ...more })).toEqual({ ...least, ...more });
      for (const unset of [null, undefined]) {
        const fields = Object.fromEntries(Object.keys(more).map((field) => [field, unset]));
        expect(parse({ ...least, ...fields })).toEqual(least);
      }
    });

    const byName = (field = '') => new RegExp(`^(${field}: must|input: unknown field "${field}")`);
    const changes = refused.map((one) => (Array.isArray(one) ? one : [one, byName(Object.keys(one)[0])]));
    it.each(changes)('is refused with %j by name, never by value', (change, words) => {
      const act = () => parse({ ...least, ...change });
      expect(act).toThrow(InvalidInput);
      expect(act).toThrow(words);
      expect(act).not.toThrow('SECRET');
    });

    const strange = [[], [least], 'x', 7, true, ...(Object.keys(least).length === 0 ? [] : [null, undefined])];
    it.each(strange.map((value) => ({ value })))('is not $value', ({ value }) => {
      expect(() => parse(value)).toThrow('input: must be a JSON object');
    });
  });
}

const partnerOrder = { account: 'partner', orderId: '4711' };
const allOfFollowing = { reference: 'booking 9', scheduledAt: '2031-05-01T08:30:00.000Z', notify, followForMs: 60_000 };
const elevenReceivers = Array.from({ length: 11 }, () => notify[0]);
describeInput('followOrder', parseFollowOrderInput, partnerOrder, allOfFollowing, [
  ...[undefined, null, 'Not A Name'].map((account) => ({ account })),
  ...[undefined, null, '', 'a/b'].map((orderId) => ({ orderId })),
  ...['', 7, 'x'.repeat(201)].map((reference) => ({ reference })),
  ...['2031-05-01', 1_900_000_000].map((scheduledAt) => ({ scheduledAt })),
  ...[{}, 'trip/9', elevenReceivers].map((list) => ({ notify: list })),
  [{ notify: [...notify, null] }, 'notify[1]: must be a JSON object'],
  ...['60000', 999, 1000.5, -1, Number.NaN, 400 * 86_400_000 + 1].map((followForMs) => ({ followForMs })),
  ...['scheduled_at', 'Account', 'constructor', '__proto__'].map((field): [object, string] => [
    JSON.parse(`{"${field}":1}`),
    `input: unknown field "${field}"; known are account, orderId, reference, scheduledAt, notify, followForMs`,
  ]),
  // It repeats nothing of the name that cannot be shown, and no half of a character.
  [{ [`\u0000${'x'.repeat(38)}\u{1F695}`]: 1 }, `unknown field "\uFFFD${'x'.repeat(38)}\uFFFD"`],
]);

const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
const call = { account: 'business', key: 'trip-9' };
describeInput('businessCall', parseBusinessCallInput, { ...call, operation: 'companySettings' }, {}, [
  ...[{ account: 'A' }, { colour: 'red' }],
  [{ operation: 'bookRide' }, 'operation: must be one of'],
  [{ operation: 'toString' }, 'operation: must be one of'],
  [{ key: 'a/b' }, 'key: must be 1 to 100'],
  [{ key: undefined }, 'key: must be 1 to 100'],
  [{ operation: 'createOrder' }, 'body: createOrder needs it'],
  [{ operation: 'createOrder', body: nested(65) }, 'body: nested deeper than 64 levels'],
  [{ operation: 'createOrder', body: 'x'.repeat(65_535) }, 'body: must have at most 65536 characters as JSON'],
  [{ operation: 'createOrder', body: {}, orderId: '1' }, 'orderId: createOrder has no use for it'],
  [{ operation: 'cancelOrder' }, 'orderId: cancelOrder needs it'],
  [{ operation: 'cancelOrder', orderId: 'a/b' }, 'orderId: must not hold'],
  [{ operation: 'addReferenceCode', body: [] }, 'referenceFieldId: addReferenceCode needs it'],
]);

const completeCalls = {
  companySettings: {},
  products: { body: {} },
  priceEstimate: { body: {} },
  createOrder: { body: {} },
  orderDetails: { orderId: '1' },
  updateOrder: { orderId: '1', body: {} },
  cancelOrder: { orderId: '1' },
  addReferenceCode: { referenceFieldId: '7', body: [] },
  orderReceipt: { orderId: '1' },
  orderReport: { body: {} },
} as const;
it.each(businessOperations)('a call of %s is read as it is, and null means "not set"', (operation) => {
  const input = { ...call, operation, ...completeCalls[operation] };
  expect(parseBusinessCallInput(input)).toEqual(input);
  expect(parseBusinessCallInput({ body: null, orderId: null, referenceFieldId: null, ...input })).toEqual(input);
});

it.each(['x'.repeat(65_534), nested(64)])('the body of a call may be as long and as deep as %#', (body) => {
  expect(parseBusinessCallInput({ ...call, operation: 'createOrder', body })).toMatchObject({ body });
});

describeInput('companyReport', parseCompanyReportInput, { account: 'business' }, { orderId: '4711', notify }, [
  ...[{ account: undefined }, { orderId: 'a/b' }, { notify: {} }, { order: '1' }],
]);

describeInput('parkedDelivery', parseParkedDeliveryInput, parked, {}, [
  ...[{ account: 'Business' }, { eventType: 'status' }, { deliveryId: 'xyz' }, { receivedAt: 'now' }],
  ...[{ reason: '' }, { sealed: null }, { sealed: '' }, { body: '{}' }],
  { aboutOrderId: 'a/b', sealed: '', reason: 'followingStopped' },
]);

describeInput('routeDelivery', parseRouteInput, { orderId: '4711' }, {}, [
  ...[{ orderId: undefined }, { orderId: '.' }, { reason: 'x' }],
]);

describeInput('stopFollowing and discardDelivery', parseReasonInput, { reason: 'passenger called' }, {}, [
  ...['', 'SECRET'.repeat(40), 7, null, undefined].map((reason) => ({ reason })),
  { why: 'y' },
]);

const allOfSubscription = { resubscribe: true, graceMs: 0, silence: { everyMs: 60_000, minOrders: 1 } };
describeInput('subscription', parseSubscriptionInput, subscription, allOfSubscription, [
  ...[{ account: 'Business!' }, { eventType: 'order_created' }, { publicUrl: 'http://rides.example' }],
  ...[{ graceMs: -1 }, { graceMs: 31 * 86_400_000 }, { graceMs: '5' }, { resubscribe: 'yes' }],
  [{ silence: { everyMs: 0 } }, 'silence.everyMs'],
  [{ silence: { minOrders: 0.5 } }, 'silence.minOrders: must be a whole number'],
  [{ silence: { every: 1 } }, 'silence: unknown field "every"'],
  { grace: 1 },
]);

describeInput('rotateSubscription', parseRotateInput, {}, { graceMs: 5 }, [{ graceMs: 1.5 }]);

const moved = { publicUrl: 'https://b.example' };
describeInput('moveSubscription', parseMoveInput, moved, { graceMs: 5 }, [{ publicUrl: undefined }]);

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

const lease = { account: 'partner', scope: `${'a'.repeat(994)} order`, credentialId: '0123456789abcdef' };
describeInput('accessToken', parseAccessTokenInput, lease, { lease: emptyLease, maxEvents: 5 }, [
  ...['order finance', 'a  b', 7, `a${lease.scope}`].map((scope) => ({ scope })),
  ...['0123456789abcde', '0123456789abcdef0', 'x0123456789abcdef', 7].map((credentialId) => ({ credentialId })),
  ...[{ account: 'A' }, { maxEvents: 0 }, { token: 1 }],
  [{ lease: {} }, 'lease.token: must be a JSON object'],
  [{ lease: { ...emptyLease, renewals: -1 } }, 'lease.renewals: must be a whole number'],
]);

describeInput('accountWatch', parseAccountWatchInput, { account: 'partner' }, {}, [{ account: 'A' }, { orders: 1 }]);

const at = '2031-05-01T10:00:00.000Z';
const notice = { number: 1, at, type: 'order.changed', data: {}, to: 'https://rides.example/', isLast: false };
const refusal = { reason: 'refused', status: 400, missedAt: at, why: 'HTTP 400' };
const waiting = { waiting: [notice, { ...notice, to: store, resentAt: at }], isEnded: false, maxWaiting: 3 };
const none = { ...waiting, missed: null, gone: null };
describeInput('notices', parseNoticesInput, none, { kept: [{ notice: { ...notice, to: store }, ...refusal }] }, [
  ...[{ waiting: {} }, { isEnded: 'no' }, { maxWaiting: -1 }, { kept: 1 }, { more: 1 }, { missed: 1 }],
  [{ gone: 'a stranger' }, 'gone: must be an https URL'],
  [{ waiting: [{ ...notice, number: -1 }] }, 'waiting[0].number: must be a whole number'],
  [{ missed: { count: 1, last: 1 } }, 'missed.why: must be a text'],
  [{ kept: [{ notice, ...refusal, status: 'x' }] }, 'kept[0].status: must be a whole number'],
]);

it('a number is taken for an order id or a reference field id', () => {
  expect(parseFollowOrderInput({ ...partnerOrder, orderId: 4711 })).toEqual(partnerOrder);
  expect(parseCompanyReportInput({ account: 'business', orderId: 4711 })).toMatchObject({ orderId: '4711' });
  expect(parseRouteInput({ orderId: 4711 })).toEqual({ orderId: '4711' });
  expect(parseBusinessCallInput({ ...call, operation: 'orderDetails', orderId: 42 })).toMatchObject({ orderId: '42' });
  const codes = { ...call, operation: 'addReferenceCode', referenceFieldId: 7, body: [] };
  expect(parseBusinessCallInput(codes)).toMatchObject({ referenceFieldId: '7' });
});

describe('a number that another language wrote and JavaScript would change', () => {
  const long = '12345678901234567890';

  it('keeps its digits as an order id or a reference field id', () => {
    expect(parseFollowOrderInput(readJson(`{"account":"partner","orderId":${long}}`))).toEqual({
      account: 'partner',
      orderId: long,
    });
    const codes = `{"account":"business","key":"1","operation":"addReferenceCode","referenceFieldId":${long},"body":[]}`;
    expect(parseBusinessCallInput(readJson(codes))).toMatchObject({ referenceFieldId: long });
  });

  const stop = `"stops":[{"location":{"lat":52.520006599999998,"code":${long}}}]`;
  const surrogate = '"note":"\\ud800"';
  it.each([
    [parseRequestRideInput, { ...ride, order: readJson(`{${surrogate},${stop}}`) }, 'order.stops[0].location.code: '],
    [parseRequestRideInput, { ...ride, order: { amount: 2 ** 53 } }, 'order.amount: '],
    [
      parseChangeRideInput,
      { ...changeOfRide, change: 'updateRide', argument: readJson(`{"order":{"x":1e400}}`) },
      'order.x: ',
    ],
    [
      parseBusinessCallInput,
      { ...call, operation: 'createOrder', body: readJson(`[{"${'\\u202e'.repeat(300)}":${long}}]`) },
      `body[0].${'\uFFFD'.repeat(192)}: `,
    ],
  ])('is refused by name in a body for the service: %#', (parse, input, field) => {
    expect(() => parse(input)).toThrow(
      new InvalidInput(`${field}would lose digits as a number; write it as text in quotes`),
    );
  });

  it('passes in a body where it is text, or JavaScript keeps it', () => {
    const order = readJson(`{"id":"${long}","lat":52.520006599999998,"lng":0.30000000000000004}`);
    expect(parseRequestRideInput({ ...ride, order })).toEqual({ ...ride, order });
  });
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
  const giveUp = { giveUp: true, reason: 'booked by phone' };
  it.each([
    { given: { orderId: 42, reason: null }, read: { orderId: '42' } },
    { given: { tryAgain: true }, read: { tryAgain: true } },
    { given: giveUp, read: giveUp },
  ])('is one of three forms: $given', ({ given, read }) => {
    expect(parseResolveRideInput(given)).toEqual(read);
    const change = { ...changeOfRide, change: 'resolveRide', argument: given };
    expect(parseChangeRideInput(change)).toEqual(change);
  });

  const halves = [{}, { tryAgain: false }, { giveUp: true }, { giveUp: true, reason: '' }];
  it.each([...halves, { orderId: '1', tryAgain: true }, { x: 1 }])('is not %j', (given) => {
    expect(() => parseResolveRideInput(given)).toThrow(InvalidInput);
  });
});

it('a change of a ride may be an update of its order', () => {
  const change = { ...changeOfRide, change: 'updateRide', argument: { order: { note_to_driver: 'blue door' } } };
  expect(parseChangeRideInput(change)).toEqual(change);
});

it.each([{ maxEvents: 0 }, { maxEvents: 0.5 }, { limits: { most: 0 } }])('%j is no progress of a run', (given) => {
  expect(() => checkProgress(given, false)).toThrow(/^(maxEvents|most): must be a positive whole number$/);
  expect(() => checkProgress(given, true)).not.toThrow();
});

it('the progress of a run that begins is limits that are numbers, and what is left of a run before it', () => {
  for (const given of [
    undefined,
    null,
    {},
    { limits: {}, maxEvents: null },
    { limits: { most: 1 }, maxEvents: 1, left: 0 },
  ])
    expect(() => checkProgress(given, false)).not.toThrow();
  for (const [given, words] of [
    [{ trail: {} }, 'progress: unknown field "trail"'],
    [7, 'progress: must be a JSON object'],
    [{ limits: [] }, 'limits: must be a JSON object'],
    [{ limits: { ['x'.repeat(50)]: 'SECRET' } }, `${'x'.repeat(40)}: must be a positive whole number`],
  ] as const)
    expect(() => checkProgress(given, false)).toThrow(new RegExp(`^${words}`));
});

it('a message without argument takes nothing else, and what cannot be decoded is refused as such', () => {
  for (const given of [undefined, null, {}]) expect(parseNoInput(given)).toBeUndefined();
  for (const given of [{ reason: 'x' }, 7, []]) expect(() => parseNoInput(given)).toThrow(InvalidInput);
  const damaged = new UndecodablePayload('not JSON');
  expect(() => parseNoInput(damaged)).toThrow(new InvalidInput('input: cannot be decoded: not JSON'));
  expect(() => toReceiver(damaged, 'notify')).toThrow(new InvalidInput('notify: cannot be decoded: not JSON'));
});

it('an error has a name, a code and a cause', () => {
  const cause = Object.assign(new Error('in use'), { code: 'EADDRINUSE' });
  const at = { host: 'HOST', port: 'PORT' };
  const error = cannotListen('CannotListen', at, cause);
  expect(error).toMatchObject({ name: 'FaretrailError', code: 'CannotListen', cause });
  expect(error.message).toBe('PORT: another program listens at this port (EADDRINUSE)');
  const unknownHost = Object.assign(new Error('why'), { code: 'ENOTFOUND' });
  expect(cannotListen('C', at, unknownHost).message).toBe('HOST: there is no such host (ENOTFOUND)');
  for (const other of ['why', new Error('why')])
    expect(cannotListen('C', at, other).message).toBe('PORT: cannot listen there (no reason given)');
  expect(new InvalidInput('no', { cause })).toMatchObject({ name: 'InvalidInput', code: 'InvalidInput', cause });
});

const noWebAddresses = [
  ...['http://rides.example/SECRET', 'http://127.0.0.1.rides.example', 'ftp://rides.example/SECRET'],
  ...['https://user:SECRET@rides.example', 'https://SECRET@rides.example', 'https://rides.example#SECRET'],
  ...['https://rides.example/ SECRET', 'rides.example', '', 7],
];

describe('a public URL', () => {
  it.each([
    ['https://rides.example/', 'https://rides.example'],
    ['https://Rides.example:8443/base//', 'https://rides.example:8443/base'],
    ['http://127.0.0.1:8480', 'http://127.0.0.1:8480'],
    ['http://localhost:8480', 'http://localhost:8480'],
    ['http://[::1]:8480', 'http://[::1]:8480'],
  ])('%s is taken', (given, taken) => {
    expect(parseMoveInput({ publicUrl: given })).toEqual({ publicUrl: taken });
  });

  const others = [null, 'https://rides.example?x=1', `https://rides.example/${'a'.repeat(500)}`];
  it.each([...noWebAddresses, ...others])('%s is refused without being repeated', (given) => {
    expect(() => parseMoveInput({ publicUrl: given })).toThrow('publicUrl: must be an https URL');
    expect(() => parseMoveInput({ publicUrl: given })).not.toThrow('SECRET');
  });
});

describe('a receiver', () => {
  const signal = { workflowId: 'trip/9', signal: 'changed' };

  it.each([
    { given: { url: 'https://rides.example/x?shop=9' }, read: { url: 'https://rides.example/x?shop=9' } },
    { given: { url: 'http://127.0.0.1:9000/' }, read: { url: 'http://127.0.0.1:9000/' } },
    {
      given: { url: 'https://Rides.example', workflowId: null, signal: null },
      read: { url: 'https://rides.example/' },
    },
    { given: { ...signal, url: null }, read: signal },
  ])('is a URL or a workflow, with null for "not set": $given', ({ given, read }) => {
    expect(parseFollowRequest({ notify: [given] })).toEqual({ notify: [read] });
  });

  const badUrls = [...noWebAddresses, `https://rides.example/${'SECRET'.repeat(400)}`];
  const badNames = ['\u0000', 'a\nb', '\u202Ea', '\uD800', 'a\uFEFF'];
  const badName = 'must not hold control or format characters';
  it.each<[unknown, string]>([
    [null, ': must be a JSON object'],
    [[], ': must be a JSON object'],
    [{ signal: 'changed' }, '.workflowId: must be a text'],
    [{ ...signal, signal: '' }, '.signal: must be a text'],
    [{ ...signal, queue: 'q' }, ': unknown field "queue"'],
    [{ ...signal, url: 'https://rides.example/x' }, ': must have either url, or workflowId and signal'],
    ...badUrls.map((url): [object, string] => [{ url }, '.url: must be an https URL']),
    ...badNames.map((workflowId): [object, string] => [{ ...signal, workflowId }, `.workflowId: ${badName}`]),
    ...badNames.map((name): [object, string] => [{ ...signal, signal: name }, `.signal: ${badName}`]),
  ])('is not %j: notify[1]%s', (given, words) => {
    const act = () => parseFollowRequest({ notify: [signal, given] });
    expect(act).toThrow(`notify[1]${words}`);
    expect(act).not.toThrow('SECRET');
  });
});
