import { log, proxyActivities, sleep } from '@temporalio/workflow';
import type { OrderActivities } from '../../activities/order.js';
import { toConcern } from '../../domain/attention.js';
import type { DeliveryNotice } from '../../domain/delivery.js';
import { isSameStatus } from '../../domain/order/status.js';
import {
  type OrderLook,
  type OrderObservation,
  type OrderTrail,
  scheduledAt,
  type Vouching,
} from '../../domain/order/trail.js';
import type { WatchOrderInput } from '../../domain/watch.js';
import { isRideReceiver } from '../../domain/workflow-ids.js';
import { lookOptions } from '../activity-options.js';
import { isReadWanted } from '../delivery-inbox.js';
import { unless, whenFailed } from '../run-kit.js';
import { type Follow, isPersonWaiting } from './state.js';

/** What a read found, and what it answers. */
export interface OrderRead {
  seen: OrderObservation;
  /** The deliveries that this read answers, if it is a reading. */
  claims: DeliveryNotice[];
  /** It answers all hints up to this number. */
  serves: number;
}

/** Reads after a hint go ahead of those of an order that was never read: it may be invented. */
const readPriority = 3;
const firstReadPriority = 4;

/** A stranger who knows an address can send deliveries about orders that do not exist. */
export function vouchingFor({ input: { account }, trail, inbox }: Follow): Vouching {
  if (trail.status !== null || inbox.receivers.some((receiver) => isRideReceiver(receiver, account)))
    return 'rideOrRead';
  if (inbox.claims.some(({ isProven }) => isProven)) return 'provenDelivery';
  return trail.deliveries.received > 0 ? 'delivery' : 'nobody';
}

const hasTrouble = ({ attention }: OrderTrail): boolean => attention !== null && toConcern(attention) === null;

/** Must the order be read? In a run of release 0.2.0 one read waits, by slow retries, while trouble lasts. */
export const mustRead = ({ inbox, trail, pends }: Follow): boolean =>
  isReadWanted(inbox) || (!pends && hasTrouble(trail));

/** How many reads after deliveries an order may have in this time: a ride has some eight changes. One order must not take the budget of others. */
const mostReads = 5;
const withinMs = 10_000;

/** How long until one more read after deliveries is within the share of the order. */
function msToShare({ inbox, deliveryReads }: Follow): number {
  const from = deliveryReads.at(-mostReads);
  return from === undefined || isPersonWaiting(inbox) ? 0 : Math.max(0, from + withinMs - Date.now());
}

/**
 * Reads the order. Undefined if `mustLeave` became true first, or a person wants a read, which goes ahead. Further deliveries do not
 * interrupt it, or a stream of them would starve it; they lead to one more.
 */
export async function readOrder(follow: Follow, mustLeave: () => boolean): Promise<OrderRead | undefined> {
  const { inbox } = follow;
  const waitMs = msToShare(follow);
  if (waitMs > 0) {
    // Deliveries that come meanwhile are answered by the same read.
    const isUrgent = (): boolean => isPersonWaiting(inbox) || mustLeave();
    await unless(isUrgent, () => sleep(waitMs, { summary: 'Read later: many deliveries have come' }));
    if (mustLeave()) return undefined;
  }
  const { asked: serves, claims } = inbox;
  const forPerson = isPersonWaiting(inbox);
  const vouching = vouchingFor(follow);
  const { findings } = follow;
  if (!forPerson) follow.deliveryReads = [...follow.deliveryReads, Date.now()].slice(-mostReads);
  const seen = await unless(
    () => mustLeave() || (!forPerson && isPersonWaiting(inbox)),
    () => requestRead(follow, forPerson, vouching),
  );
  // If a delivery or a ride has named the order meanwhile, the next read knows that.
  if (!seen || (seen.kind === 'unknownOrder' && vouching !== vouchingFor(follow))) return undefined;
  // If a poll has found something else meanwhile, either may be older. The next read tells.
  if (follow.findings === findings || !isNews(follow.trail, seen)) return { seen, claims, serves };
  follow.trail = { ...follow.trail, reads: follow.trail.reads + seen.reads };
  return undefined;
}

const isNews = ({ status }: OrderTrail, seen: OrderObservation): boolean =>
  seen.kind === 'reading' && !isSameStatus(seen.reading.status, status);

const againAfterMs = 60_000;

/** Undefined if the read was ended from outside. */
async function requestRead(
  follow: Follow,
  forPerson: boolean,
  vouching: Vouching,
): Promise<OrderObservation | undefined> {
  const { input, trail, notBefore, streak } = follow;
  const priority = forPerson || trail.status !== null ? readPriority : firstReadPriority;
  const summary = forPerson ? 'Read because a caller asked' : readSummary(follow);
  const { readOrder: read } = proxyActivities<OrderActivities>(lookOptions(input.account, priority, summary));
  follow.streak = null;
  const isWatched = follow.watched?.isTaken ?? false;
  const asked = { ...shownBy(follow), notBefore, streak, isWatched, vouching, forPerson };
  return await whenFailed<OrderObservation | undefined>(read(asked), async ({ message }) => {
    // It has no failure of its own: a person has changed its options. The run still wants the read.
    log.warn('a read was ended from outside', { message });
    await sleep(againAfterMs, { summary: 'Read again after a read that was ended from outside' });
    return undefined;
  });
}

function readSummary({ inbox, trail }: Follow): string {
  if (inbox.claims.length > 0) return 'Read after a delivery';
  if (hasTrouble(trail)) return `Read again: ${trail.attention?.code}`;
  return trail.status === null ? 'First read' : 'Read after a hint';
}

/** What the run shows of the order to the activities that look at it. */
const shownBy = ({ input, trail, startedAt }: Follow): OrderLook => ({
  ...{ account: input.account, orderId: input.orderId },
  ...{ rawStatus: trail.status, attention: trail.attention?.code ?? null, since: trail.since },
  scheduledAt: scheduledAt(input, trail),
  followedSince: startedAt,
});

/** What the watch of the account must know of the order. */
export const watchedOrder = (follow: Follow): WatchOrderInput => ({ ...shownBy(follow), pushed: follow.trail.pushed });
