import { CancellationScope, condition, proxyActivities } from '@temporalio/workflow';
import type { OrderActivities } from '../../activities/order.js';
import type { DeliveryNotice } from '../../domain/delivery.js';
import type { FollowOrderInput } from '../../domain/order/input.js';
import { type LookInput, type OrderObservation, type OrderTrail, scheduledAt } from '../../domain/order/trail.js';
import { isRideReceiver } from '../../domain/workflow-ids.js';
import { lookOptions } from '../activity-options.js';
import { isReadWanted } from '../delivery-inbox.js';
import { unless } from '../run-kit.js';
import type { OrderInbox } from './inbox.js';

/** What a look needs to know of the run. */
export interface Looking {
  readonly input: FollowOrderInput;
  readonly inbox: OrderInbox;
  readonly trail: OrderTrail;
  readonly notBefore: string | null;
  /** When the order was read last, an ISO instant; null before the first read of this run and after trouble. */
  readonly lastReadAt: string | null;
  /** How many events the run had when it recorded what it saw last. */
  readonly recordedLength: number;
  /** The poll under way; null before the first one and after it has told what it saw. */
  poll: Poll | null;
}

/** Waits at the service for the next change, beside the reads that others ask for meanwhile. */
export interface Poll {
  readonly input: LookInput;
  readonly scope: CancellationScope;
  ended: { seen: OrderObservation } | { error: unknown } | null;
}

/** What was seen, and what made us look. */
export interface Look {
  seen: OrderObservation;
  /** The deliveries that this look answers, if it is a reading. */
  claims: DeliveryNotice[];
  /** All reads asked for up to this number are answered by it. */
  serves: number;
}

/** Reads after a delivery or for a person go ahead of polls. */
const readPriority = 2;
const pollPriority = 4;

/** Does only the caller vouch for the order? It was never read, no delivery has named it, and it was made for no ride of ours. */
export const mayBeUnknown = ({
  input: { account },
  trail,
  inbox,
}: Pick<Looking, 'input' | 'trail' | 'inbox'>): boolean =>
  trail.status === null &&
  trail.deliveries.received === 0 &&
  !inbox.receivers.some((receiver) => isRideReceiver(receiver, account));

const toLookInput = (follow: Looking): LookInput => ({
  account: follow.input.account,
  orderId: follow.input.orderId,
  shown: { rawStatus: follow.trail.rawStatus, attention: follow.trail.attention?.code ?? null },
  since: follow.trail.since,
  scheduledAt: scheduledAt(follow.input, follow.trail),
  pushed: follow.trail.pushed,
  mayBeUnknown: mayBeUnknown(follow),
  notBefore: follow.notBefore,
});

/**
 * Waits for the next thing worth recording. Undefined when `mustLeave` came first.
 * A read that was asked for is not interrupted by further deliveries, or a stream of them would starve it.
 */
export async function nextLook(follow: Looking, mustLeave: () => boolean): Promise<Look | undefined> {
  const look = isReadWanted(follow.inbox) ? await readNow(follow, mustLeave) : await waitForChange(follow, mustLeave);
  // Somebody has vouched for the order since this look began: another look is told so.
  return look?.seen.kind === 'unknownOrder' && !mayBeUnknown(follow) ? undefined : look;
}

async function readNow(follow: Looking, mustLeave: () => boolean): Promise<Look | undefined> {
  const { inbox } = follow;
  const { asked: serves, claims } = inbox;
  const forPerson = inbox.refreshing > 0;
  const summary = forPerson ? 'Read because a caller asked' : 'Read after a delivery';
  const { readOrder } = proxyActivities<OrderActivities>(lookOptions(follow.input.account, readPriority, summary));
  const look: LookInput = { ...toLookInput(follow), ...tracesOf(claims), ...(forPerson ? { forPerson } : {}) };
  // The read of a delivery may have to wait for long; that of a person who asks meanwhile may not.
  const isOutdone = (): boolean => !forPerson && inbox.refreshing > 0;
  const seen = await unless(
    () => mustLeave() || isOutdone(),
    () => readOrder(look),
  );
  return seen && { seen, claims, serves };
}

/** More would make an input bigger than they are worth. */
const maxTraces = 32;

function tracesOf(claims: readonly DeliveryNotice[]): Pick<LookInput, 'traceparents'> {
  const traceparents = claims.flatMap(({ traceparent }) => traceparent ?? []).slice(-maxTraces);
  return traceparents.length > 0 ? { traceparents } : {};
}

async function waitForChange(follow: Looking, mustLeave: () => boolean): Promise<Look | undefined> {
  const { inbox } = follow;
  const poll = keepPolling(follow);
  const isRight = (): boolean => isStillRight(poll.input, toLookInput(follow));
  await condition(() => poll.ended !== null || isReadWanted(inbox) || !isRight() || mustLeave());
  // What it saw meanwhile may be older than the read that is wanted now.
  if (poll.ended === null || isReadWanted(inbox)) return undefined;
  follow.poll = null;
  if ('error' in poll.ended) throw poll.ended.error;
  const { seen } = poll.ended;
  return isOvertaken(seen, follow) ? undefined : { seen, claims: inbox.claims, serves: inbox.served };
}

/** Has the run recorded something since the poll asked what it shows? Then what the poll saw may be older than that. */
const isOvertaken = (seen: OrderObservation, { recordedLength }: Looking): boolean =>
  seen.kind === 'reading' && seen.runLength !== undefined && seen.runLength <= recordedLength;

/** A read that has found nothing new, or an announced change, leaves the poll as it is: that costs no event. */
function keepPolling(follow: Looking): Poll {
  const input = toLookInput(follow);
  const { poll } = follow;
  if (poll?.ended === null && isStillRight(poll.input, input)) return poll;
  poll?.scope.cancel();
  follow.poll = startPoll(follow, input);
  return follow.poll;
}

/** May the poll go on? One of an order whose changes are announced asks the run for the status, so that may have changed. */
const isStillRight = (polled: LookInput, wanted: LookInput): boolean =>
  polled.shown.attention === wanted.shown.attention &&
  polled.scheduledAt === wanted.scheduledAt &&
  polled.pushed === wanted.pushed &&
  polled.mayBeUnknown === wanted.mayBeUnknown &&
  polled.notBefore === wanted.notBefore &&
  (wanted.pushed || (polled.shown.rawStatus === wanted.shown.rawStatus && polled.since === wanted.since));

function startPoll(follow: Looking, input: LookInput): Poll {
  const { lastReadAt, trail } = follow;
  const { observeOrder } = proxyActivities<OrderActivities>(
    lookOptions(input.account, pollPriority, pollSummary(trail)),
  );
  const poll: Poll = { input, scope: new CancellationScope(), ended: null };
  poll.scope
    .run(() => observeOrder(input, lastReadAt))
    .then((seen) => {
      poll.ended = { seen };
    })
    .catch((error: unknown) => {
      poll.ended = { error };
    });
  return poll;
}

function pollSummary({ status, pushed }: OrderTrail): string {
  if (status === null) return 'Watch for the first status';
  return pushed ? 'Watch for a change that is not announced' : `Watch for a change from ${status.slice(0, 100)}`;
}
