import type { DeliveryAttempt } from '../../sandbox/delivery/ledger.js';
import type { LeftOut, Run } from './runs.js';
import type { Verdict } from './verdict.js';

/** The runs of one order, all together. */
export interface OrderRuns {
  deliveries: Set<string>;
  leftOut: LeftOut[];
  /** The end of the last run, in milliseconds since the epoch; null while it runs. */
  closedAt: number | null;
}

/** Adds a run of an order. */
export function addRun(orders: Map<string, OrderRuns>, { workflowId, deliveries, leftOut, closedAt }: Run): void {
  const known = orders.get(workflowId) ?? { deliveries: new Set(), leftOut: [], closedAt: 0 };
  for (const id of deliveries) known.deliveries.add(id);
  known.leftOut.push(...leftOut);
  known.closedAt = known.closedAt === null || closedAt === null ? null : Math.max(known.closedAt, closedAt);
  orders.set(workflowId, known);
}

/**
 * Did every acknowledged delivery reach the run of its order? A delivery may be missing only if its order had ended before
 * it came, or if a signal counts it without its id: a signal names at most 50 deliveries. `emptyAt`: instants, in order,
 * at which the journal was empty, so that the ingress had forwarded all earlier deliveries. Deliveries that the ingress
 * forwarded after the runs were read are not judged.
 */
export function judgeDeliveries(
  attempts: readonly DeliveryAttempt[],
  { orders, emptyAt, readAt }: { orders: ReadonlyMap<string, OrderRuns>; emptyAt: readonly number[]; readAt: number },
): Verdict {
  const acknowledged = attempts.filter(({ acknowledgedAs }) => acknowledgedAs !== undefined);
  const lost: string[] = [];
  const isCounted = createUnnamed(orders);
  let afterTheEnd = 0;
  let countedOnly = 0;
  let underWay = 0;
  for (const { orderId = '', acknowledgedAs = '', at, ms } of acknowledged) {
    const order = orders.get(`order/business/${orderId}`);
    if (order?.deliveries.has(acknowledgedAs)) continue;
    const handedOverBy = emptyAt.find((instant) => instant >= Date.parse(at) + ms) ?? Number.POSITIVE_INFINITY;
    const mayHaveEnded = order !== undefined && order.closedAt !== null && order.closedAt <= handedOverBy;
    if (handedOverBy > readAt) underWay += 1;
    else if (mayHaveEnded) afterTheEnd += 1;
    else if (isCounted(orderId, Date.parse(at), ms)) countedOnly += 1;
    else lost.push(`delivery ${acknowledgedAs} of order ${orderId}, acknowledged at ${at}, has not arrived`);
  }
  const answered = attempts.filter(({ answer }) => answer !== null);
  const refused = answered.filter(({ answer }) => answer !== 202 && answer !== 503 && answer !== 429);
  const strange = [...new Set(refused.map(({ answer }) => answer))].map(
    (answer) => `deliveries were answered with ${answer}: ${refused.filter((one) => one.answer === answer).length}`,
  );
  const figures = {
    deliveryAttempts: attempts.length,
    deliveriesAcknowledged: acknowledged.length,
    deliveriesNotTaken: attempts.filter(({ answer }) => answer === 503).length,
    deliveriesTooMany: attempts.filter(({ answer }) => answer === 429).length,
    deliveriesUnanswered: attempts.length - answered.length,
    deliveriesLost: lost.length,
    deliveriesAfterTheEnd: afterTheEnd,
    deliveriesCountedOnly: countedOnly,
    deliveriesUnderWay: underWay,
  };
  return { problems: [...lost, ...strange], figures };
}

/** Tells whether some signal counts a delivery without its id. Each signal accounts for as many deliveries as it says. */
function createUnnamed(orders: ReadonlyMap<string, OrderRuns>) {
  const left = new Map([...orders].map(([id, { leftOut }]) => [id, leftOut.map((one) => ({ ...one }))]));
  return (orderId: string, at: number, ms: number): boolean => {
    const signals = left.get(`order/business/${orderId}`) ?? [];
    const signal = signals.find(({ from, to, count }) => count > 0 && from <= at + ms && at <= to);
    if (signal) signal.count -= 1;
    return signal !== undefined;
  };
}
