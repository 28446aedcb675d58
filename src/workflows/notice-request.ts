import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  log,
  proxyActivities,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { NotifyActivities } from '../activities/notify-activities.js';
import type { Notice, NoticeFate } from '../domain/notice-log.js';
import { hostOf } from '../domain/notify.js';
import { countNotices } from './notice-metrics.js';

/** The deadline of one request. */
export const attemptMs = 15_000;
/** A dead worker is noticed by this alone. */
const startToCloseTimeout = 2 * attemptMs;
/** A URL that does not answer is given up a day after the change became known ... */
const giveUpMs = 86_400_000;
/** ... but not before it was tried: the day may have passed while no worker was alive. */
const leastMs = 60_000;
const retry = { initialInterval: 2_000, backoffCoefficient: 2, maximumInterval: 600_000 };
/** Token requests, on the same queue, go first. */
const priority = { priorityKey: 4 };

/** Tells a URL of one thing, however often that must be tried. Null when it was cancelled and has come to no end. */
export async function requestNotice(
  url: string,
  { number, at, event }: Notice,
  id: string,
): Promise<NoticeFate | null> {
  const scope = CancellationScope.current();
  const { notifyUrl } = proxyActivities<NotifyActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout: Math.max(Date.parse(at) + giveUpMs - Date.now(), leastMs),
    retry,
    priority,
    // An attempt under way ends by itself and soon, and what it came to is worth knowing.
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: `Tell ${hostOf(url)} of change ${number}`,
  });
  const { origin } = new URL(url);
  try {
    await notifyUrl({ url, event, id });
    countNotices({ outcome: 'told', origin });
    return { kind: 'told' };
  } catch (error) {
    const last = lastFailure(error);
    // A cancelled activity is not tried again, so the failure of its last attempt is not the last word on the notice.
    if (!last?.nonRetryable && (isCancellation(error) || scope.consideredCancelled)) return null;
    const fate = last?.nonRetryable ? toFate(last) : expired;
    log.warn('notify failed', { number, reason: fate.reason });
    const isAllowed = last !== undefined && fate.reason !== 'originNotAllowed';
    countNotices({ outcome: fate.reason, ...(isAllowed && { origin }) });
    return fate;
  }
}

type Missed = Extract<NoticeFate, { kind: 'missed' }>;

const expired: Missed = { kind: 'missed', reason: 'expired', why: 'given up after a day' };

/** Of the activity itself; undefined when no attempt of it came to an end. */
function lastFailure(error: unknown): ApplicationFailure | undefined {
  let cause = error;
  while (cause instanceof ActivityFailure || cause instanceof TimeoutFailure) cause = cause.cause;
  return cause instanceof ApplicationFailure ? cause : undefined;
}

function toFate({ type, message: why }: ApplicationFailure): Missed {
  switch (type) {
    case 'ReceiverGone':
      return { kind: 'missed', reason: 'gone', why };
    case 'OriginNotAllowed':
      return { kind: 'missed', reason: 'originNotAllowed', why };
    case 'AddressNotAllowed':
      return { kind: 'missed', reason: 'addressNotAllowed', why };
    default:
      return { kind: 'missed', reason: 'refused', why };
  }
}
