import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { toDeliveryNotice } from '../../src/domain/delivery.js';
import type { ParkedDeliveryInput } from '../../src/domain/parked.js';
import { createDirectForwarding } from '../../src/webhooks/forward/routing.js';
import published from '../fixtures/deliveries.published.json' with { type: 'json' };
import { recordedPort } from './forward/port.js';
import { aStand, type IngressStand } from './ingress-stand.js';

const { statusChanged, statusChangedTextId, businessReport, employeeUpdated, test } = published;

const send = (stand: IngressStand, eventType: 'status_changed' | 'business_report', body: object) =>
  stand.post(JSON.stringify(body), { address: stand.addressOf('g1', eventType) });

it('a published status_changed names its order, a number or a text, its status, its event and when it happened', async () => {
  const stand = await aStand();
  for (const body of [statusChanged, statusChangedTextId]) await send(stand, 'status_changed', body);
  const about = { eventType: 'status_changed', orderId: '71000123' };
  expect(stand.store.deliveries).toMatchObject([
    { ...about, status: 'Confirmed', eventTime: '2026-03-02T08:15:51.740Z' },
    { ...about, status: 'Pending', eventTime: '2026-03-02T08:15:02.611Z' },
  ]);
  expect(stand.facts.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted']);
  expect(stand.store.deliveries.filter(({ parkReason }) => parkReason)).toEqual([]);
});

it('a published business_report names its order, and its word "update" is no status', async () => {
  const stand = await aStand();
  await send(stand, 'business_report', businessReport);
  const [delivery] = stand.store.deliveries;
  expect(delivery).toMatchObject({ eventType: 'business_report', orderId: '71000123' });
  expect(delivery).not.toHaveProperty('status');
  expect(delivery).not.toHaveProperty('parkReason');
});

it.each(['status_changed', 'business_report'] as const)(
  'events about employees and tests are acknowledged at the address of %s, and nothing is kept of them',
  async (eventType) => {
    const stand = await aStand();
    for (const body of [employeeUpdated, test])
      expect(await send(stand, eventType, body)).toMatchObject({ status: 202 });
    expect(stand.facts.map(({ outcome }) => outcome)).toEqual(['employee', 'test']);
    expect(stand.store.deliveries).toEqual([]);
  },
);

/** What becomes of each field of published.md 2.1; all of them are in one of the samples. */
const fields = {
  id: 'makes duplicates',
  event_type: 'must be that of the address, a test or employee_updated',
  env: 'not used: the address belongs to one environment',
  message: 'its JSON is read',
  timestamp: 'kept as eventTime',
  'message/order_id': 'kept as orderId',
  'message/product_id': 'not used: a read of the order tells it',
  'message/status': 'kept as status of status_changed',
  'message/employee_uuid': 'not used: nothing is done for employees',
  hook_address: 'not used: of tests',
};

it('the table of fields names each field of the samples', () => {
  const found = new Set<string>();
  for (const body of [statusChanged, statusChangedTextId, businessReport, employeeUpdated, test]) {
    for (const name of Object.keys(body)) found.add(name);
    if (!body.message.startsWith('{')) continue;
    for (const name of Object.keys(JSON.parse(body.message))) found.add(`message/${name}`);
  }
  expect([...found].sort()).toEqual(Object.keys(fields).sort());
});

it('the samples are signed as the service signs: the bytes of the compact JSON', () => {
  const { secretId, signatures } = published;
  const hmacOf = (body: object) =>
    `sha256=${createHmac('sha256', secretId).update(JSON.stringify(body)).digest('base64')}`;
  expect(signatures).toEqual({
    statusChanged: hmacOf(statusChanged),
    statusChangedTextId: hmacOf(statusChangedTextId),
    businessReport: hmacOf(businessReport),
    employeeUpdated: hmacOf(employeeUpdated),
  });
});

const event = (more: object, { id = 'e-1', timestamp = statusChanged.timestamp } = {}) => ({
  ...statusChanged,
  ...{ id, timestamp, message: JSON.stringify({ order_id: 7, status: 'Driving', ...more }) },
});

it('the id of an event makes duplicates, with its order and its status: never its time or the rest of the body', async () => {
  const stand = await aStand();
  const again = { ...event({ product_id: 'p' }, { timestamp: '2026-03-02T09:00:00Z' }), env: 'prod' };
  const others = [event({ status: 'Waiting' }), event({ order_id: 8 }), event({}, { id: 'e-2' })];
  for (const body of [event({}), again, ...others]) await send(stand, 'status_changed', body);
  const [first, repeated, ...rest] = stand.store.deliveries.map(({ deliveryId }) => deliveryId);
  expect(repeated).toBe(first);
  expect(new Set([first, ...rest]).size).toBe(4);
  const parked = [event({ order_id: null, n: 1 }), event({ order_id: null, n: 2 })];
  for (const body of parked) await send(stand, 'status_changed', body);
  const ids = stand.store.deliveries.slice(-2).map(({ deliveryId, parkReason }) => `${parkReason} ${deliveryId}`);
  expect(new Set(ids).size, 'a person sees both').toBe(2);
});

it('without an id of the event, or where the profile reads none, the same body is the same delivery', async () => {
  const { id: _, ...bare } = event({});
  for (const [stand, body] of [
    [await aStand(), bare],
    [await aStand({ pointers: { eventId: [] } }), event({})],
  ] as const) {
    for (const one of [body, body, { ...body, env: 'prod' }]) await send(stand, 'status_changed', one);
    const [first, second, third] = stand.store.deliveries.map(({ deliveryId }) => deliveryId);
    expect([second === first, third === first]).toEqual([true, false]);
  }
});

it.each(['yesterday', '2026-02-30T00:00:00Z', '', 5, '2026-03-02T08:15:51', `2026-03-02T08:15:51.${'7'.repeat(40)}Z`])(
  'a time of the event that is no instant is not kept: %j',
  async (timestamp) => {
    const stand = await aStand();
    await send(stand, 'status_changed', { ...event({}), timestamp });
    expect(stand.store.deliveries).toMatchObject([{ orderId: '7' }]);
    expect(stand.store.deliveries[0]).not.toHaveProperty('eventTime');
  },
);

it('the time of the event goes along to the run of the order, and to the person who looks at a parked delivery', async () => {
  const stand = await aStand();
  for (const body of [statusChanged, event({ order_id: null })]) await send(stand, 'status_changed', body);
  const [taken, parked] = stand.store.deliveries;
  const eventTime = '2026-03-02T08:15:51.740Z';
  expect(taken && toDeliveryNotice(taken)).toMatchObject({ eventTime });
  const inputs: ParkedDeliveryInput[] = [];
  const park = async (input: ParkedDeliveryInput) => void inputs.push(input);
  const port = { ...recordedPort().port, park };
  if (parked) await createDirectForwarding({ port, check: async () => null })(parked);
  expect(inputs).toMatchObject([{ eventTime, reason: 'noOrderId' }]);
});
