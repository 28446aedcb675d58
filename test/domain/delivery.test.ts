import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Delivery,
  isEndParkReason,
  isReadable,
  parkReasons,
  readDeliveries,
  takingRunId,
  toDeliveryNotice,
} from '../../src/domain/delivery.js';
import { type DeliveryId, toAccountName, toOrderId } from '../../src/domain/keys.js';
import { describeParked, type ParkedDelivery } from '../../src/domain/parked.js';
import { forAny } from '../support/for-any.js';

const now = '2031-05-01T10:00:00.000Z';
const notice = {
  deliveryId: '0123456789abcdef0123456789abcdef',
  eventType: 'status_changed',
  receivedAt: '2031-05-01T09:59:58.000Z',
};
const unreadable = { deliveryId: '', eventType: 'unknown', receivedAt: now };

it.each([
  ['status_changed', '4711', 'order/business/4711'],
  ['business_report', '4711', 'report/business/4711'],
  ['business_report', null, `report/business/${notice.deliveryId}`],
] as const)('a delivery of %s about order %j goes to the run %s', (eventType, id, runId) => {
  const orderId = id && toOrderId(id);
  expect(takingRunId({ account: toAccountName('business'), eventType, orderId, deliveryId: notice.deliveryId })).toBe(
    runId,
  );
});

it('a run gets of a delivery what it needs, and none of what the ingress keeps', () => {
  const fields = {
    account: toAccountName('business'),
    orderId: toOrderId('1'),
    sealed: 'x',
    parkReason: 'wrongSecret',
  };
  const delivery = { ...notice, ...fields, deliveryId: notice.deliveryId as DeliveryId } as Delivery;
  expect(toDeliveryNotice(delivery)).toStrictEqual(notice);
  const more = { status: 'Driving', traceparent: '00-1' };
  expect(toDeliveryNotice({ ...delivery, ...more })).toStrictEqual({ ...notice, ...more });
  expect([notice, unreadable].map(isReadable)).toEqual([true, false]);
});

describe('the argument of deliveryReceived', () => {
  it('is read as the deliveries it holds, in their order', () => {
    const deliveries = [{ ...notice, status: 'x'.repeat(256) }, notice, { ...notice, deliveryId: 'b' }];
    expect(readDeliveries({ deliveries }, now)).toEqual(deliveries);
  });

  it('counts as one delivery of unknown content where it holds no list, and each entry keeps its place', () => {
    const noLists = [undefined, null, 7, 'x', [], [notice], {}, { deliveries: null }, { deliveries: { 0: notice } }];
    for (const value of noLists) expect(readDeliveries(value, now), JSON.stringify(value)).toEqual([unreadable]);
    const strange = [
      null,
      7,
      'x',
      [],
      {},
      { ...notice, deliveryId: '' },
      { deliveryId: 7 },
      { deliveryId: 'x'.repeat(257) },
    ];
    const read = readDeliveries({ deliveries: [notice, ...strange, notice] }, now);
    expect(read).toEqual([notice, ...strange.map(() => unreadable), notice]);
  });

  it('takes the time of the signal and an unknown type for what an entry does not say', () => {
    const { deliveryId } = notice;
    const bare = { deliveryId, eventType: 'unknown', receivedAt: now };
    expect(readDeliveries({ deliveries: [{ deliveryId }] }, now)).toEqual([bare]);
    const odd = { deliveryId, eventType: '', receivedAt: 'just now', status: { code: 4 } };
    expect(readDeliveries({ deliveries: [odd, { ...odd, status: '' }] }, now)).toEqual([bare, bare]);
  });

  it('drops fields that no run needs, such as those of the passenger', () => {
    const deliveries = [{ ...notice, passenger: { phone: '+1 555' } }];
    expect(readDeliveries({ deliveries }, now)).toEqual([notice]);
  });

  it('keeps when the event happened, in UTC, and drops what is no instant', () => {
    const eventTime = '2031-05-01T09:59:57.120Z';
    const told = ['2031-05-01T11:59:57.120034567+02:00', eventTime, 'just now', 7, null];
    const read = readDeliveries({ deliveries: told.map((one) => ({ ...notice, eventTime: one })) }, now);
    expect(read).toStrictEqual([{ ...notice, eventTime }, { ...notice, eventTime }, notice, notice, notice]);
  });

  it('of any JSON is read without an error, and each entry counts', () => {
    const entries = fc.oneof(fc.jsonValue(), fc.record({ deliveryId: fc.jsonValue(), status: fc.jsonValue() }));
    const signals = fc.oneof(fc.jsonValue(), fc.record({ deliveries: fc.array(entries) }));
    forAny(signals, (value) => {
      const list = (value as { deliveries?: unknown } | null)?.deliveries;
      const read = readDeliveries(value, now);
      expect(read).toHaveLength(Array.isArray(list) ? list.length : 1);
      expect(JSON.parse(JSON.stringify(read))).toEqual(read);
      expect(read.every(({ receivedAt }) => !Number.isNaN(Date.parse(receivedAt)))).toBe(true);
    });
  });

  // V8 parses the first; the timeline and the UI would show it.
  it.each([
    ['1 May 2031 (|<img src=x>|)', now],
    ['2031-05-01T11:59:58+02:00', notice.receivedAt],
  ])('gives an ISO instant in UTC, and for what is none the time of the signal: %j', (receivedAt, read) => {
    expect(readDeliveries({ deliveries: [{ ...notice, receivedAt }] }, now)).toEqual([{ ...notice, receivedAt: read }]);
  });
});

describe('a parked delivery in the Temporal UI', () => {
  const { deliveryId } = notice;
  const fields = { account: toAccountName('business'), eventType: 'status_changed', deliveryId } as const;
  const rest = {
    receivedAt: now,
    reason: 'noOrderId',
    outcome: 'waiting',
    orderId: null,
    discardReason: null,
  } as const;
  const waiting: ParkedDelivery = { ...fields, ...rest };

  it('says why it waits, and the commands that end it', () => {
    const text = describeParked(waiting);
    expect(text).toBe(
      [
        '**Waits for a person**: no order id was found in it.\n',
        'status_changed of account business, received at 2031-05-01 10:00:00 UTC.\n',
        `- \`faretrail delivery parked --account business --open ${deliveryId}\``,
        `- \`faretrail delivery route business ${deliveryId} --order ID\``,
        `- \`faretrail delivery discard business ${deliveryId} --reason R\``,
      ].join('\n'),
    );
    for (const reason of parkReasons)
      expect(describeParked({ ...waiting, reason })).toMatch(/^\*\*Waits for a person\*\*: [a-z ,]{20,}\.\n/);
    expect(parkReasons.filter(isEndParkReason)).toEqual(['followingStopped', 'endUnreadable']);
  });

  it('of an order whose following was stopped names the order, to be followed again', () => {
    const text = describeParked({ ...waiting, reason: 'followingStopped', aboutOrderId: toOrderId('42') });
    expect(text).toContain('**Waits for a person**: the following of its order was stopped.');
    expect(text).toContain('`faretrail order follow business 42 --again`');
    expect(text).toContain(`\`faretrail delivery route business ${deliveryId} --order 42\``);
  });

  it('names the order that it was routed to, why it was discarded or that it expired, and then offers no command', () => {
    expect(describeParked({ ...waiting, outcome: 'routed', orderId: 'a|b' })).toContain('**Routed** to order a b.');
    const discarded = describeParked({ ...waiting, outcome: 'discarded', discardReason: 'a test' });
    expect(discarded).toContain('**Discarded**: a test');
    const expired = describeParked({ ...waiting, outcome: 'expired' });
    expect(expired).toBe(
      '**Expired**: it waited for 30 days without a decision.\n\nstatus_changed of account business, received at 2031-05-01 10:00:00 UTC.',
    );
    expect(discarded).not.toContain('faretrail');
  });
});
