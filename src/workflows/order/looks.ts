import {
  CancellationScope,
  condition,
  isCancellation,
  patched,
  proxyActivities,
  proxyLocalActivities,
  sleep,
} from '@temporalio/workflow';
import type { OrderActivities } from '../../activities/order.js';
import type { ReadAtOnceActivities } from '../../activities/reads-at-once.js';
import { toConcern } from '../../domain/attention.js';
import type { DeliveryNotice } from '../../domain/delivery.js';
import { jitterShare, nextReadMs } from '../../domain/order/cadence.js';
import { type LookInput, type OrderObservation, type OrderTrail, scheduledAt } from '../../domain/order/trail.js';
import { isRideReceiver } from '../../domain/workflow-ids.js';
import { lookOptions } from '../activity-options.js';
import { isReadWanted } from '../delivery-inbox.js';
import { hasManyEvents, unless } from '../run-kit.js';
import { type Follow, type Poll, showAccount } from './state.js';

/** What a look found, and why it was made. */
export interface Look {
  seen: OrderObservation;
  /** The deliveries that this look answers, if it is a reading. */
  claims: DeliveryNotice[];
  /** It answers all requested reads up to this number. */
  serves: number;
}

/** Reads after a delivery or for a person go ahead of polls. Not those of an order that was never read: it may be invented. */
const readPriority = 2;
const pollPriority = 4;

/** Was the order never read, and did no ride make it? A stranger who knows an address can send deliveries about orders that do not exist. */
export const mayBeInvented = ({ input: { account }, trail, inbox }: Follow): boolean =>
  trail.status === null && !inbox.receivers.some((receiver) => isRideReceiver(receiver, account));

/** Has only the caller named the order? It was never read, no delivery has named it, and no ride made it. */
const mayBeUnknown = (follow: Follow): boolean => mayBeInvented(follow) && follow.trail.deliveries.received === 0;

/** Does the answer of the service stand? A delivery or a ride may have named the order since the look began. */
const isUnknown = (follow: Follow, despiteDeliveries: boolean): boolean =>
  mayBeUnknown(follow) || (despiteDeliveries && mayBeInvented(follow) && patched('invented-orders-end'));

function toLookInput(follow: Follow): LookInput {
  const { input, trail } = follow;
  const concern = toConcern(trail.attention)?.code ?? null;
  return {
    account: input.account,
    orderId: input.orderId,
    // A worker of an earlier release would take a concern for trouble, and each good read for its end.
    shown: { rawStatus: trail.rawStatus, attention: concern === null ? (trail.attention?.code ?? null) : null },
    watched: { concern, followedSince: follow.startedAt },
    since: trail.since,
    scheduledAt: scheduledAt(input, trail),
    pushed: trail.pushed,
    mayBeUnknown: mayBeUnknown(follow),
    ...(mayBeInvented(follow) ? { mayBeInvented: true } : {}),
    notBefore: follow.notBefore,
  };
}

/**
 * Waits for the next observation. Undefined if `mustLeave` became true first.
 * Further deliveries do not interrupt a requested read, or a stream of them would starve it.
 */
export async function nextLook(follow: Follow, mustLeave: () => boolean): Promise<Look | undefined> {
  const look = isReadWanted(follow.inbox) ? await readNow(follow, mustLeave) : await waitForChange(follow, mustLeave);
  if (look?.seen.kind !== 'unknownOrder') return look;
  return isUnknown(follow, look.seen.despiteDeliveries ?? false) ? look : undefined; // the next look knows who names it
}

/** How many reads after deliveries an order may have in this time: a ride has some eight changes. One order must not take the budget of others. */
const mostReads = 5;
const withinMs = 10_000;

/** How long until one more read after deliveries is within the share of the order. */
function msToShare(follow: Follow): number {
  const { inbox, deliveryReads } = follow;
  const waitMs = (deliveryReads.at(-mostReads) ?? Number.NEGATIVE_INFINITY) + withinMs - Date.now();
  if (waitMs <= 0 || inbox.refreshing > 0) return 0;
  follow.isPaced ??= patched('share-of-reads-after-deliveries');
  return follow.isPaced ? waitMs : 0;
}

async function readNow(follow: Follow, mustLeave: () => boolean): Promise<Look | undefined> {
  const { inbox } = follow;
  const waitMs = msToShare(follow);
  if (waitMs > 0) {
    // Deliveries that come meanwhile are answered by the same read.
    const summary = 'Read later: many deliveries have come';
    const isDue = (): boolean => inbox.refreshing > 0;
    const isForNextRun = (): boolean => mustLeave() || (!isDue() && hasManyEvents());
    const isUrgent = (): boolean => isDue() || isForNextRun();
    await unless(isUrgent, () => sleep(waitMs, { summary }));
    if (isForNextRun()) return undefined;
  }
  const { asked: serves, claims } = inbox;
  const forPerson = inbox.refreshing > 0;
  if (!forPerson) follow.deliveryReads = [...follow.deliveryReads, Date.now()].slice(-mostReads);
  const summary = forPerson ? 'Read because a caller asked' : 'Read after a delivery';
  const priority = forPerson || follow.trail.status !== null ? readPriority : pollPriority;
  const { readOrder } = proxyActivities<OrderActivities>(lookOptions(follow.input.account, priority, summary));
  const look: LookInput = { ...toLookInput(follow), ...tracesOf(claims), ...(forPerson ? { forPerson } : {}) };
  const atOnce = await readAtOnce(follow, look);
  if (atOnce) return { seen: atOnce, claims, serves };
  showAccount(follow);
  // The read of a delivery may have to wait long; a person's read goes ahead of it.
  const isOutdone = (): boolean => !forPerson && inbox.refreshing > 0;
  const seen = await unless(
    () => mustLeave() || isOutdone(),
    () => readOrder(look),
  );
  return seen && { seen, claims, serves };
}

const { readOrderAtOnce } = proxyLocalActivities<ReadAtOnceActivities>({
  startToCloseTimeout: 5_000, // only a process that stands still takes so long
  retry: { maximumAttempts: 1 },
  cancellationType: 'TRY_CANCEL',
});

/**
 * A read within the workflow task that asks for it: six events instead of eleven for an announced change. Undefined: the run must read through
 * the account's queue. Not for an order that a stranger may have invented.
 */
async function readAtOnce(follow: Follow, look: LookInput): Promise<OrderObservation | undefined> {
  if (!follow.readsAtOnce || !mayReadAtOnce(follow, look)) return undefined;
  const answer = await readOrderAtOnce(look).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return null; // a process that stood still
  });
  if (!answer) return undefined;
  follow.cadence = answer.cadence;
  return answer.seen;
}

/** Not while trouble lasts, nor for an order that a stranger may have invented. */
const mayReadAtOnce = (follow: Follow, { notBefore, shown }: LookInput): boolean =>
  notBefore === null && shown.attention === null && (!mayBeInvented(follow) || mayBeUnknown(follow));

/** More would make the input too big. */
const maxTraces = 32;

function tracesOf(claims: readonly DeliveryNotice[]): Pick<LookInput, 'traceparents'> {
  const traceparents = claims.flatMap(({ traceparent }) => traceparent ?? []).slice(-maxTraces);
  return traceparents.length > 0 ? { traceparents } : {};
}

async function waitForChange(follow: Follow, mustLeave: () => boolean): Promise<Look | undefined> {
  const { inbox } = follow;
  if (follow.trail.status === null && follow.poll === null) {
    const { claims, served: serves } = inbox;
    const seen = await readAtOnce(follow, toLookInput(follow));
    if (seen) return { seen, claims, serves };
    showAccount(follow);
  }
  const poll = keepPolling(follow);
  const isRight = (): boolean => isStillRight(poll.input, toLookInput(follow));
  await condition(() => poll.ended !== null || isReadWanted(inbox) || !isRight() || mustLeave());
  // Its result may be older than the read that is wanted now.
  if (poll.ended === null || isReadWanted(inbox)) return undefined;
  follow.poll = null;
  follow.cadence = null; // changes that a poll finds come without deliveries: then an attempt that waits is cheaper than a timer
  if ('error' in poll.ended) throw poll.ended.error;
  const { seen } = poll.ended;
  return isOvertaken(seen, follow) ? undefined : { seen, claims: inbox.claims, serves: inbox.served };
}

/** Has the run recorded an observation since the poll asked for the status? Then the result of the poll may be older. */
const isOvertaken = (seen: OrderObservation, { recordedLength }: Follow): boolean =>
  seen.kind === 'reading' && seen.runLength !== undefined && seen.runLength <= recordedLength;

/** Keeps the poll after a read without news or with an announced change: that costs no event. */
function keepPolling(follow: Follow): Poll {
  const input = toLookInput(follow);
  const { poll } = follow;
  if (poll?.ended === null && isStillRight(poll.input, input)) return poll;
  poll?.scope.cancel();
  follow.poll = startPoll(follow, input);
  return follow.poll;
}

/** May the poll go on? The poll of a pushed order asks the run for its status, so that status may have changed. */
const isStillRight = (polled: LookInput, wanted: LookInput): boolean =>
  polled.shown.attention === wanted.shown.attention &&
  polled.scheduledAt === wanted.scheduledAt &&
  polled.pushed === wanted.pushed &&
  polled.mayBeUnknown === wanted.mayBeUnknown &&
  polled.notBefore === wanted.notBefore &&
  (wanted.pushed || (polled.shown.rawStatus === wanted.shown.rawStatus && polled.since === wanted.since));

function startPoll(follow: Follow, input: LookInput): Poll {
  const { observeOrder } = proxyActivities<OrderActivities>(
    lookOptions(input.account, pollPriority, pollSummary(follow.trail)),
  );
  const poll: Poll = { input, scope: new CancellationScope(), ended: null };
  poll.scope
    .run(() =>
      follow.cadence === null
        ? observeOrder(input, follow.lastReadAt)
        : restThen(follow, (lastReadAt) => observeOrder(input, lastReadAt)),
    )
    .then((seen) => {
      poll.ended = { seen };
    })
    .catch((error: unknown) => {
      poll.ended = { error };
    });
  return poll;
}

/**
 * Waits until the poll may read, if the run knows the pace: most announced orders change before, and then no attempt was made. Gives `poll`
 * the last read for which it must wait by itself; null if it need not.
 */
async function restThen<T>(follow: Follow, poll: (lastReadAt: string | null) => Promise<T>): Promise<T> {
  const { lastReadAt } = follow;
  const leftMs = lastReadAt === null ? 0 : Date.parse(lastReadAt) + paceMs(follow) - Date.now();
  if (leftMs > 0) await sleep(leftMs, { summary: 'Poll from here on' });
  return await poll(follow.lastReadAt === lastReadAt ? null : follow.lastReadAt);
}

function paceMs({ cadence, input, trail }: Follow): number {
  if (cadence === null) return 0;
  const pickup = scheduledAt(input, trail);
  const { status, pushed } = trail;
  const at = {
    since: Date.parse(trail.since),
    scheduledAt: pickup === null ? null : Date.parse(pickup),
    now: Date.now(),
  };
  return nextReadMs({ status, pushed, ...at }, cadence) * (1 + Math.random() * jitterShare);
}

function pollSummary({ status, pushed }: OrderTrail): string {
  if (status === null) return 'Watch for the first status';
  return pushed ? 'Watch for a change that is not announced' : `Watch for a change from ${status.slice(0, 100)}`;
}
