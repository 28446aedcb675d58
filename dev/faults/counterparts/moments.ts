import { randomUUID } from 'node:crypto';
import { rideBody } from '../chaos/ride-bodies.js';
import type { Stage } from '../chaos/stage.js';

/**
 * The program's report of one update: its name, its moment in milliseconds after the start of the run, and the answer.
 */
export type ToldMoment = [update: string, moment: number, outcome: string];

/** Twenty moments of the first three seconds, closer together at their start. */
export const moments = Array.from({ length: 20 }, (_, i) => Math.round(3_000 * (i / 19) ** 1.5));

const reason = 'a test';
const publicUrl = 'http://127.0.0.1:9/base';
const sealed = 'eyJhbGciOiJkaXIifQ..c2VhbGVk.b2Y.dGhl';

/** A new run: its type, its id and its input. */
type NewRun = readonly [type: string, id: string, input: object];

function order(id: string): NewRun {
  return ['followOrder', `order/business/${id}`, { account: 'business', orderId: id }];
}
function ride(id: string): NewRun {
  const input = { account: 'business', requestId: id, order: rideBody(false) };
  return ['requestRide', `ride/business/${id}`, input];
}
function subscription(id: string): NewRun {
  const input = { account: 'business', eventType: 'business_report', publicUrl };
  return ['subscription', `subscription/business/business_report/${id}`, input];
}
function parked(id: string): NewRun {
  const deliveryId = id.replaceAll('-', '');
  const received = { eventType: 'status_changed', receivedAt: new Date().toISOString() };
  const input = { account: 'business', deliveryId, ...received, reason: 'noOrderId', sealed };
  return ['parkedDelivery', `parked/business/${deliveryId}`, input];
}

const updates: [name: string, run: (id: string) => NewRun, args: unknown[]][] = [
  ['refreshOrder', order, []],
  ['stopFollowing', order, [{ reason }]],
  ['updateRide', ride, [{ order: { note_to_driver: 'blue door' } }]],
  ['cancelRide', ride, []],
  ['resolveRide', ride, [{ giveUp: true, reason }]],
  ['rotateSubscription', subscription, [{ graceMs: 0 }]],
  ['moveSubscription', subscription, [{ publicUrl: `${publicUrl}/moved`, graceMs: 0 }]],
  ['endSubscription', subscription, [{ reason }]],
  ['routeDelivery', parked, [{ orderId: '4711' }]],
  ['discardDelivery', parked, [{ reason }]],
];

/** The updates to send, and the orders that they are about. */
export async function askedMoments({ sandbox }: Pick<Stage, 'sandbox'>) {
  const goesOn = [{ status: 'Routing', afterMs: 0 }];
  const asked = [];
  for (const [name, run, args] of updates) {
    const orderIds = moments.map(() => randomUUID());
    await sandbox.addOrders(orderIds.map((orderId) => ({ interface: 'business', orderId, script: goesOn })));
    const runs = orderIds.map(run);
    asked.push({
      name,
      args,
      type: runs[0]?.[0],
      ids: runs.map(([, id]) => id),
      inputs: runs.map(([, , input]) => input),
    });
  }
  return { updates: asked, moments };
}

const failures = [
  'AlreadyDecided',
  'Cancelled',
  'NotRead',
  'NotRouted',
  'OrderNotFound',
  'Refused',
  'SubscriptionEnded',
];
const right = new Set(['result', 'not found', ...failures.map((type) => `failure ${type}`)]);

/** One line for each update that had another answer than a result, a failure of ours, or "not found". */
export const wrongMoments = (told: readonly ToldMoment[]): string[] =>
  told.flatMap(([update, ms, outcome]) => (right.has(outcome) ? [] : [`${update} after ${ms} ms: ${outcome}`]));
