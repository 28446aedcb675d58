import { describe, expect, it } from 'vitest';
import { readDeliveries, readTraceparent } from '../../src/domain/delivery.js';

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
  const notice = { deliveryId: 'd', eventType: 'status_changed', receivedAt: '2031-05-01T10:00:00.000Z' };
  const traced = { ...notice, traceparent: `00-${trace}-${span}-01` };
  expect(readDeliveries({ deliveries: [traced] }, '')).toEqual([traced]);
  expect(readDeliveries({ deliveries: [{ ...notice, traceparent: 'x' }] }, '')).toEqual([notice]);
});
