import { expect, it } from 'vitest';
import { addRun, judgeDeliveries, type OrderRuns } from '../../chaos/judge-deliveries.js';
import type { Run } from '../../chaos/runs.js';
import type { DeliveryAttempt } from '../../sandbox/delivery-ledger.js';

const attempt = (acknowledgedAs: string | undefined, atMs: number, answer: number | null = 202): DeliveryAttempt => ({
  at: new Date(atMs).toISOString(),
  ...{ delivery: 1, subscriberId: 's', eventType: 'status_changed', orderId: 'o', attempt: 1, cause: 'change' },
  ...{ answer, acknowledgedAs, ms: 10 },
});
const readAt = 5_000;
const ordersWith = (deliveries: string[], closedAt: number | null): Map<string, OrderRuns> =>
  new Map([['order/business/o', { deliveries: new Set(deliveries), closedAt }]]);

it('what was acknowledged and has arrived is well, and so is what nobody acknowledged', () => {
  const attempts = [attempt('a', 1_000), attempt(undefined, 1_500, null), attempt(undefined, 1_500, 503)];
  const { problems, figures } = judgeDeliveries(attempts, { orders: ordersWith(['a'], null), emptyAt: [], readAt });
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ deliveriesAcknowledged: 1, deliveriesUnanswered: 1, deliveriesNotTaken: 1 });
});

it('what has not arrived at a living order is lost', () => {
  const { problems } = judgeDeliveries([attempt('a', 1_000)], {
    orders: ordersWith([], null),
    emptyAt: [2_000],
    readAt,
  });
  expect(problems).toEqual([expect.stringContaining('delivery a of order o')]);
});

it('it may be missing where the order had ended before the journal is known to have been empty', () => {
  const judged = (closedAt: number, emptyAt: number[]) =>
    judgeDeliveries([attempt('a', 1_000)], { orders: ordersWith([], closedAt), emptyAt, readAt }).figures;
  expect(judged(3_000, [500, 4_000])).toMatchObject({ deliveriesLost: 0, deliveriesAfterTheEnd: 1 });
  expect(judged(3_000, [500, 2_000, 4_000])).toMatchObject({ deliveriesLost: 1 });
});

it('what is handed over only after the runs were read is not judged', () => {
  const { problems, figures } = judgeDeliveries([attempt('a', 1_000), attempt('b', 1_000)], {
    ...{ orders: ordersWith(['a'], null), emptyAt: [500, 5_500], readAt },
  });
  expect(problems).toEqual([]);
  expect(figures).toMatchObject({ deliveriesLost: 0, deliveriesUnderWay: 1 });
});

it('an order that nobody has followed had no end', () => {
  expect(judgeDeliveries([attempt('a', 1_000)], { orders: new Map(), emptyAt: [2_000], readAt }).problems).toHaveLength(
    1,
  );
});

it('a refusal is no answer to a right delivery', () => {
  expect(
    judgeDeliveries([attempt(undefined, 1_000, 401)], { orders: new Map(), emptyAt: [2_000], readAt }).problems,
  ).toEqual(['deliveries were answered with 401: 1']);
});

it('runs that continue one another are one order, open while the last of them is', () => {
  const orders = new Map<string, OrderRuns>();
  const run = (deliveries: string[], closedAt: number | null): Run =>
    ({ workflowId: 'order/business/o', deliveries, closedAt }) as Run;
  addRun(orders, run(['a'], 1_000));
  expect(orders.get('order/business/o')).toEqual({ deliveries: new Set(['a']), closedAt: 1_000 });
  addRun(orders, run(['b'], null));
  addRun(orders, run(['c'], 3_000));
  expect(orders.get('order/business/o')).toEqual({ deliveries: new Set(['a', 'b', 'c']), closedAt: null });
});
