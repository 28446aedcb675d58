import {
  type ActivityOptions,
  type ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  log,
  metricMeter,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { NotifyActivities, StoreActivities } from '../../activities/notify.js';
import {
  type MissedReason,
  type Notice,
  type NoticeFate,
  refusedByStore,
  type StoredChange,
  storeRefuses,
} from '../../domain/notify/notices.js';
import { shownUrl, store } from '../../domain/notify/receivers.js';
import { lastFailure, whenFailed } from '../run-kit.js';

/**
 * Sends one notice to its URL or the store, with as many attempts as it takes. `run`: the first run of the chain that
 * sends it. When cancelled, it lets a request in flight finish, and throws `CancelledFailure` if that settles nothing.
 */
export const sendNotice = (notice: Notice, run: string): Promise<NoticeFate> =>
  notice.to === store ? recordChange(notice, run) : requestNotice(notice, run);

/** The deadline of one request is 15 s. Only this timeout reveals a dead worker. */
const startToCloseTimeout = 30_000;
/** The run gives a notice up a day after the change, or after a person has had it sent again ... */
const giveUpMs = 86_400_000;
/** ... but tries it first: the day may have passed while no worker was alive. */
const leastMs = 60_000;
const retry = { initialInterval: 2_000, backoffCoefficient: 2, maximumInterval: 600_000 };
/** Token requests, on the same queue, go first. */
const priority = { priorityKey: 4 };

async function requestNotice(
  { to: url, number, at, type, data, resentAt = at }: Notice,
  run: string,
): Promise<NoticeFate> {
  const { notifyUrl } = proxyActivities<NotifyActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout: Math.max(Date.parse(resentAt) + giveUpMs - Date.now(), leastMs),
    retry,
    priority,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: `Tell ${shownUrl(url)} of change ${number}`,
  });
  const { origin } = new URL(url);
  const telling = notifyUrl({ url, event: { type, timestamp: at, data }, run, number }).then((): NoticeFate => {
    countNotices({ outcome: 'told', origin });
    return { kind: 'told' };
  });
  return await whenFailed(telling, (failure) => {
    const last = lastFailure(failure);
    // Temporal does not repeat a cancelled activity, so a failure that may pass is not the end of the notice.
    if (!last?.nonRetryable && CancellationScope.current().consideredCancelled) throw new CancelledFailure('not sent');
    const fate = last ? toFate(last) : expired;
    log.warn('notify failed', { number, reason: fate.reason });
    const isAllowed = last !== undefined && fate.reason !== 'originNotAllowed';
    countNotices({ outcome: fate.reason, ...(isAllowed && { origin }) });
    return fate;
  });
}

type Missed = Extract<NoticeFate, { kind: 'missed' }>;

const expired: Missed = { kind: 'missed', reason: 'expired', why: 'given up after a day' };

const reasonByType: ReadonlyMap<string, MissedReason> = new Map([
  ['ReceiverGone', 'gone'],
  ['OriginNotAllowed', 'originNotAllowed'],
  ['AddressNotAllowed', 'addressNotAllowed'],
]);

function toFate({ type, message: why, nonRetryable, details }: ApplicationFailure): Missed {
  const answer = typeof details?.[0] === 'number' ? { status: details[0] } : {};
  const reason = reasonByType.get(type ?? '');
  if (reason === undefined && !nonRetryable) return { ...expired, ...answer };
  return { kind: 'missed', reason: reason ?? 'refused', why, ...answer };
}

interface CountedNotices {
  outcome: 'told' | MissedReason;
  /** Only an origin that the operator has allowed, since callers may name any other. */
  origin?: string | undefined;
}

/** Counts what became of notices to URLs, but not during replay. */
export const countNotices = ({ outcome, origin = 'other' }: CountedNotices): void =>
  metricMeter
    .createCounter('faretrail_notices', undefined, 'Notices to URLs by what became of them.')
    .add(1, { origin, outcome });

/** How long a change waits for a store that does not answer: in a run of `notices` ... */
const storePatience = {
  scheduleToCloseTimeout: 30 * 86_400_000,
  retry: { initialInterval: 5_000, backoffCoefficient: 2, maximumInterval: 120_000 },
};
/** ... and in the run that tells it, where it holds up the next notice and the end. */
const shortPatience = { scheduleToCloseTimeout: 3_000, retry: { initialInterval: 1_000 } };

/** Records a change of this run in the store. False: the store has not taken it within seconds. */
export async function isRecordedSoon(notice: Notice): Promise<boolean> {
  const fate = await record(notice, workflowInfo().firstExecutionRunId, shortPatience);
  return fate.kind === 'told';
}

async function recordChange(notice: Notice, run: string): Promise<NoticeFate> {
  const fate = await record(notice, run, storePatience);
  if (fate.kind === 'told') return fate;
  log.warn('a change was not recorded in the store', { number: notice.number, reason: fate.reason });
  countRows(fate.reason);
  return fate;
}

/** `run`: the first run of those that tell the change. */
async function record({ number, at, type, data }: Notice, run: string, patience: ActivityOptions): Promise<NoticeFate> {
  const { recordChange: write } = proxyActivities<StoreActivities>({
    startToCloseTimeout,
    cancellationType: 'TRY_CANCEL',
    summary: `Record change ${number} in the store`,
    ...patience,
  });
  const change = data as StoredChange['change'];
  const writing = write({ run, notice: number, at, type, change }).then((): NoticeFate => {
    countRows('recorded');
    return { kind: 'told' };
  });
  return await whenFailed(writing, (failure) => {
    const last = lastFailure(failure);
    if (last?.type === storeRefuses) return { kind: 'missed', reason: refusedByStore, why: last.message };
    return { kind: 'missed', reason: 'expired', why: 'given up after 30 days' };
  });
}

/** Not during replay. */
const countRows = (outcome: 'recorded' | MissedReason): void =>
  metricMeter
    .createCounter('faretrail_stored_changes', undefined, 'Changes for the store by what became of them.')
    .add(1, { outcome });
