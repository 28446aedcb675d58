import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultContractProfile as profile } from '../../src/contracts/default-contract-profile.js';
import { findCreatedOrder, isCancelled, isChanged, parseOrderReply } from '../../src/contracts/order-reply.js';
import { parseSubscriber, parseSubscriberList } from '../../src/contracts/subscriber-reply.js';
import { parseTokenReply } from '../../src/contracts/token-reply.js';
import { UnusableReply } from '../../src/contracts/unusable-reply.js';
import { toOrderId, toScope } from '../../src/domain/keys.js';
import assumed from '../fixtures/order-replies.assumed.json' with { type: 'json' };
import givenSubscriber from '../fixtures/subscriber-reply.given.json' with { type: 'json' };
import givenTokens from '../fixtures/token-replies.given.json' with { type: 'json' };
import { forAny } from '../support/for-any.js';

const code = (value: string) => expect.objectContaining({ name: 'UnusableReply', code: value });
const { pointers, statuses } = profile;
const asked = toOrderId('4711');
const read = (body: unknown, own: Partial<typeof statuses> = {}, at = pointers.orderStatus) =>
  parseOrderReply(body, at, { ...statuses, ...own }, asked);

describe('the status in an order reply', () => {
  const storniert = { words: { storniert: 'Cancelled' as const } };
  const noShow = { terminal: ['No Show'] };
  it.each<[unknown, object, Partial<typeof statuses>?]>([
    ...Object.values(assumed.sameOrder).map((body): [unknown, object] => [
      body,
      { rawStatus: 'Confirmed', status: 'Confirmed', terminal: false, details: null },
    ]),
    // Ours where the word is known, otherwise as it came.
    [{ status: 'care_req' }, { rawStatus: 'care_req', status: 'CareReq', terminal: false }],
    [{ status: 'On Ferry' }, { rawStatus: 'On Ferry', status: 'On Ferry', terminal: false }],
    ...['Completed', 'COMPLETED', 'canceled', 'Cancelled', 're-jected'].map((status): [unknown, object] => [
      { status },
      { rawStatus: status, terminal: true },
    ]),
    [{ status: 'no_show' }, { terminal: true }, noShow],
    [{ status: 'Completed' }, { terminal: false }, noShow],
    [{ status: 'STORNIERT' }, { status: 'Cancelled', rawStatus: 'STORNIERT', terminal: true }, storniert],
    [{ status: 'erledigt' }, { status: 'erledigt', terminal: false }, storniert],
    // At the top such a word speaks of the answer, below of the order.
    ...['ok', 'Success', 'ERROR'].map((status): [unknown, object] => [{ order: { status } }, { rawStatus: status }]),
    // The first usable one.
    [{ order: { status: '' }, data: { status: 7 }, order_status: 'Waiting' }, { status: 'Waiting' }],
    // An order id that is none is passed over.
    ...[null, '', 4711.5, 2 ** 53, {}].map((order_id): [unknown, object] => [
      { order_id, id: '4711', status: 'Driving' },
      { status: 'Driving' },
    ]),
  ])('of %j is %j', (body, reading, own) => {
    expect(read(body, own)).toMatchObject(reading);
  });

  it('is found where a profile says so', () => {
    const own = { status: ['/ride/state'], orderId: ['/ride/no'] };
    expect(read({ ride: { state: 'Driving', no: 4711 } }, {}, own).status).toBe('Driving');
  });

  it.each([
    ['0190F7A2-6a2b-7c3d-9e4f-5a6b7c8d9e0f', true],
    ['0190f7a26a2b7c3d9e4f5a6b7c8d9e0f', false], // no spelling of RFC 9562
  ])('with the id %s is of the order with this UUID: %s', (order_id, isOurs) => {
    const asked = toOrderId('0190f7a2-6A2B-7c3d-9e4f-5a6b7c8d9e0f');
    const reply = () => parseOrderReply({ order_id, status: 'Driving' }, pointers.orderStatus, statuses, asked);
    if (isOurs) expect(reply().status).toBe('Driving');
    else expect(reply).toThrow('ORDER_MISMATCH');
  });

  const words = ['ok', 'Success', 'ERROR', '', ' ', 'x'.repeat(101)].map((status) => ({ status }));
  const others = [{ order_id: '4712' }, { order_id: 4712 }, { order: { id: '04711' } }, { data: { id: '4711 ' } }];
  it.each<[string, unknown]>([
    ...[undefined, null, [], 'Confirmed', {}, ...words].map((one): [string, unknown] => ['UNREADABLE_STATUS', one]),
    ...others.map((one): [string, unknown] => ['ORDER_MISMATCH', { order_status: 'Completed', ...one }]),
  ])('is %s: %j', (reason, body) => {
    expect(() => read(body)).toThrow(code(reason));
  });
});

describe('the details in an order reply', () => {
  it('are times and the code of the supplier, and nothing of the driver', () => {
    const { details } = read(assumed.details);
    expect(details).toEqual({
      requestedAt: '2031-05-01T10:00:00Z',
      scheduledAt: '2031-05-01T10:30:00Z',
      willArriveAtPickup: '2031-05-01T10:29:00Z',
      pickedUpAt: '2031-05-01T10:33:00Z',
      supplier: { code: '77' },
    });
    expect(JSON.stringify(details)).not.toMatch(/Private|15550100|png|Sedan/);
  });

  it('hold the driver and the car where personal data is kept, until the order has ended', () => {
    const vehicle = { model: 'Sedan', license_plate: 'L' };
    const supplier = { name: 'City Cabs', driver: { name: 'N', phone: 'P', image_url: 'U', rating: 5, vehicle } };
    const details = (status: string) =>
      parseOrderReply({ status, supplier }, pointers.orderStatus, statuses, asked, { keepsPersonalData: true }).details;
    expect(details('Driving')).toEqual({
      supplier: { name: 'City Cabs' },
      driver: { name: 'N', phone: 'P', imageUrl: 'U', rating: '5' },
      vehicle: { model: 'Sedan', licensePlate: 'L' },
    });
    expect(details('Completed')).toEqual({ supplier: { name: 'City Cabs' } });
    expect(read({ status: 'Driving', supplier }).details).toBeNull();
  });

  it('hold them of a partner order, too, where public clients read them', () => {
    const actual = { supplier: { driver: { driver_name: 'N', driver_phone: 'P', plate_number: 'L' } } };
    const details = (order: object, keepsPersonalData: boolean) =>
      parseOrderReply({ order }, pointers.orderStatus, statuses, asked, { keepsPersonalData }).details;
    const expected = { driver: { name: 'N', phone: 'P' }, vehicle: { licensePlate: 'L' } };
    expect(details({ status: 'Driving', actual }, true)).toEqual(expected);
    expect(details({ status: 'Driving', actual }, false)).toBeNull();
    expect(details({ status: 'Completed', actual }, true)).toBeNull();
    const supplier = { driver: { name: 'Published', phone: '' } };
    expect(details({ status: 'Driving', supplier, actual }, true)).toEqual({
      ...expected,
      driver: { name: 'Published', phone: 'P' },
    });
  });

  it('are texts from the object that holds the status, without any that cannot be used', () => {
    const [one, two] = ['2031-05-01T01:00:00Z', '2031-05-01T02:00:00Z'];
    const body = { order: { status: 'Driving', requested_at: one }, requested_at: two };
    expect(read(body).details).toEqual({ requestedAt: one });
    const unusable = { requested_at: 5, scheduled_at: 'x'.repeat(201), supplier: { name: {}, code: '' } };
    expect(read({ status: 'Driving', ...unusable }).details).toBeNull();
  });

  it('of any JSON are bounded, or the reply is one of the two coded errors', () => {
    const maybe = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>('4711', 4711, 'Driving', 'Completed', 'ok'));
    const fields = { id: maybe, order_id: maybe, status: maybe, order_status: maybe, supplier: maybe };
    const order = fc.record({ ...fields, requested_at: maybe }, { requiredKeys: [] });
    const inner = fc.oneof(order, fc.record({ order }));
    forAny(fc.oneof(fc.jsonValue(), inner, fc.record({ data: inner })), (body) => {
      try {
        const reading = read(body);
        expect(reading.rawStatus.length).toBeLessThanOrEqual(100);
        expect(JSON.stringify(reading).length).toBeLessThan(4000);
      } catch (error) {
        expect(error).toBeInstanceOf(UnusableReply);
        expect(['UNREADABLE_STATUS', 'ORDER_MISMATCH']).toContain((error as UnusableReply).code);
      }
    });
  });
});

it.each([
  [{ id: 42 }, '42'],
  [{ order: { id: 'a' } }, 'a'],
  [{ data: { id: 'b' } }, 'b'],
  [{ id: 'with/slash' }, undefined],
  [{ id: null }, undefined],
  [undefined, undefined],
])('the order that a create made is in %j: %s', (body, orderId) => {
  expect(findCreatedOrder(body, pointers)).toBe(orderId);
});

describe('what an order shows of a call', () => {
  const storniert = { ...profile, statuses: { ...statuses, words: { storniert: 'Cancelled' as const } } };
  it.each([
    [{ status: 'Cancelled' }, profile, true],
    [{ order: { status: 'CANCELED' } }, profile, true],
    [{ status: 'Driving' }, profile, false],
    [{}, profile, false],
    [{ status: 'storniert' }, profile, false],
    [{ status: 'storniert' }, storniert, true],
  ])('%j: cancelled (%#)', (body, own, is) => {
    expect(isCancelled(body, own)).toBe(is);
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

describe('the answer about a subscriber', () => {
  const nothing = { secretId: null, deliveryAddress: null, createdAt: null, updatedAt: null };
  const whole = {
    id: 'sub-1',
    secretId: '0d4f1f0e-9b0a-4f7e-8f5f-3f2b8f1d7c11',
    deliveryAddress: 'https://rides.example/webhooks/x',
    createdAt: '2031-05-01T10:00:00.123456789Z',
    updatedAt: '2031-05-01T10:00:00Z',
  };
  const unusable = ['', 1.5, 'a b', 'a\n', 'x'.repeat(201)].map((id) => ({ id }));

  it.each<[unknown, object | undefined]>([
    [givenSubscriber, whole],
    [{ id: 7 }, { id: '7', ...nothing }],
    [
      { id: 'a', secret_id: '', created_at: 5, hook_address: null },
      { id: 'a', ...nothing },
    ],
    ...[undefined, null, [], 'x', {}, ...unusable].map((one): [unknown, undefined] => [one, undefined]),
  ])('%j is read as %j', (body, subscriber) => {
    expect(parseSubscriber(body)).toEqual(subscriber);
  });

  it('is a list, bare or named (assumed), and no list in anything else', () => {
    const lists = [
      [givenSubscriber],
      { data: [givenSubscriber] },
      { subscribers: [givenSubscriber] },
      { subscribers: [{}, givenSubscriber, null] },
    ];
    for (const body of lists) expect(parseSubscriberList(body)).toEqual([whole]);
    forAny(fc.jsonValue(), (body) => {
      const { subscribers, data } = (body ?? {}) as { subscribers?: unknown; data?: unknown };
      const isList = Array.isArray(body) || Array.isArray(subscribers ?? data);
      expect(parseSubscriberList(body) !== undefined).toBe(isList);
    });
  });
});

describe('a token reply', () => {
  const reply = { access_token: 't0ken', token_type: 'Bearer', expires_in: 899 };
  const wanting = (scope = '') => ({ wantedScope: toScope(scope), fallbackLifetimeMs: 300_000 });
  const unusableTimes = [undefined, null, 'soon', '', '0x10', 0, 0.5, -5, '-5', Number.NaN];

  it.each<[object, object, string?]>([
    [givenTokens.partner, { accessToken: '<ACCESS_TOKEN>', lifetimeMs: 3_600_000 }, 'demand_partner'],
    [givenTokens.business, { lifetimeMs: 899_000 }, 'order'],
    [givenTokens.unscoped, { lifetimeMs: 899_000 }],
    ...[undefined, null, 'bearer', 'BEARER'].map((token_type): [object, object] => [
      { ...reply, token_type },
      { accessToken: 't0ken' },
    ]),
    ...[
      [899, 899],
      ['899', 899],
      [' 12.9 ', 12],
      [12.9, 12],
      [1e300, 604_800],
      ...unusableTimes.map((time) => [time, 300]),
    ].map(([expires_in, seconds]): [object, object] => [
      { ...reply, expires_in },
      { lifetimeMs: Number(seconds) * 1_000 },
    ]),
    ...['order finance extra', undefined].map((scope): [object, object, string] => [
      { ...reply, scope },
      { accessToken: 't0ken' },
      'finance order',
    ]),
  ])('%j is read as %j', (body, granted, scope) => {
    expect(parseTokenReply(body, wanting(scope))).toMatchObject(granted);
  });

  const noTokens = [undefined, null, '', 7, 'two words', 'line\nbreak', 'ümlaut', 'x'.repeat(16_385)];
  it.each<[string, object]>([...noTokens.map((access_token): [string, object] => ['NO_TOKEN', { access_token }])])(
    'is refused as %s with %j',
    (reason, fields) => {
      expect(() => parseTokenReply({ ...reply, ...fields }, wanting('order'))).toThrow(code(reason));
    },
  );
});
