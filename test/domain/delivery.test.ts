import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readDeliveries, readTraceparent } from '../../src/domain/delivery.js';
import { forAny } from '../support/for-any.js';

const now = '2031-05-01T10:00:00.000Z';
const notice = {
  deliveryId: '0123456789abcdef0123456789abcdef',
  eventType: 'status_changed',
  receivedAt: '2031-05-01T09:59:58.000Z',
};
const unreadable = { deliveryId: '', eventType: 'unknown', receivedAt: now };

describe('the argument of deliveryReceived', () => {
  it('is read as the deliveries it holds, in their order', () => {
    const deliveries = [{ ...notice, status: 'Driving' }, notice, { ...notice, deliveryId: 'b' }];
    expect(readDeliveries({ deliveries }, now)).toEqual(deliveries);
  });

  const unread = [undefined, null, 7, 'Driving', [], [notice], {}, { deliveries: null }, { deliveries: { 0: notice } }];
  it.each(unread)('counts as one delivery of unknown content when it is %j', (value) => {
    expect(readDeliveries(value, now)).toEqual([unreadable]);
  });

  const strange = [null, 7, 'x', [], {}, { deliveryId: '' }, { deliveryId: 7 }, { deliveryId: 'x'.repeat(257) }];
  it.each(strange)('keeps its place for an entry that is %j', (entry) => {
    expect(readDeliveries({ deliveries: [notice, entry, notice] }, now)).toEqual([notice, unreadable, notice]);
  });

  it('takes the time of the signal and an unknown type for what an entry does not say', () => {
    const { deliveryId } = notice;
    const bare = { deliveryId, eventType: 'unknown', receivedAt: now };
    expect(readDeliveries({ deliveries: [{ deliveryId }] }, now)).toEqual([bare]);
    const odd = { deliveryId, eventType: 7, receivedAt: 'just now', status: { code: 4 } };
    expect(readDeliveries({ deliveries: [odd] }, now)).toEqual([bare]);
  });

  it('drops fields that no run needs, such as those of the passenger', () => {
    const deliveries = [{ ...notice, passenger: { phone: '+1 555' } }];
    expect(readDeliveries({ deliveries }, now)).toEqual([notice]);
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

  // V8 parses all of these; they would stand in the timeline and in the UI.
  it.each([
    ['1', now],
    ['May 1 2031', now],
    ['2031-05-01T09:59:58', now],
    ['1 May 2031 (|<img src=x>|)', now],
    ['2031-05-01T11:59:58+02:00', notice.receivedAt],
  ])('gives an ISO instant in UTC, and for what is none the time of the signal: %j', (receivedAt, read) => {
    expect(readDeliveries({ deliveries: [{ ...notice, receivedAt }] }, now)).toEqual([{ ...notice, receivedAt: read }]);
  });
});

const trace = '0af7651916cd43dd8448eb211c80319c';
const span = 'b7ad6b7169203331';

describe('a traceparent', () => {
  it('names trace, span and whether it is recorded', () => {
    expect(readTraceparent(`00-${trace}-${span}-01`)).toEqual({ traceId: trace, spanId: span, traceFlags: 1 });
    expect(readTraceparent(`00-${trace}-${span}-fe`)).toEqual({ traceId: trace, spanId: span, traceFlags: 0 });
  });

  it.each([
    undefined,
    7,
    '',
    `00-${trace}-${span}`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace}-${span}-01 and more`,
  ])('is not read from %j', (value) => {
    expect(readTraceparent(value)).toBeNull();
  });
});

it('comes with a delivery, and one that is none is left out', () => {
  const traced = { ...notice, traceparent: `00-${trace}-${span}-01` };
  expect(readDeliveries({ deliveries: [traced] }, '')).toEqual([traced]);
  expect(readDeliveries({ deliveries: [{ ...notice, traceparent: 'x' }] }, '')).toEqual([notice]);
});
