import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  isCancellation,
  log,
  metricMeter,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { NotifyActivities, StoreActivities } from '../../activities/notify.js';
import { InvalidInput } from '../../domain/errors.js';
import {
  addNotice,
  describeNotices,
  type MissedReason,
  type Notice,
  type NoticeFate,
  type NoticesEnd,
  type NoticesInput,
  parseNoticesInput,
  passNotice,
  readNotice,
} from '../../domain/notify/notices.js';
import { hostOf, store } from '../../domain/notify/receivers.js';
import type { StoredChange } from '../../domain/stored-change.js';
import { fromNoticesId, type NoticesKey } from '../../domain/workflow-ids.js';
import { noticeGivenSignal } from '../messages.js';
import { defaultMaxEvents, isHistoryLong, refuseBadInput, runBeside } from '../run-kit.js';

/** When the run continues as new, if the server does not hint at it before, and when it ends without a last notice. */
export interface NoticesLimits {
  maxEvents: number;
  /** The run that tells may have been terminated; if it goes on, its next notice starts another run. */
  quietMs: number;
}

const defaultLimits: NoticesLimits = { maxEvents: defaultMaxEvents, quietMs: 7 * 86_400_000 };

/** Tests set it. */
interface NoticesProgress {
  limits?: Partial<NoticesLimits>;
}

/**
 * Sends the notices of an order, a ride or a report to one URL, or to the store, one after the other. Each receiver has a run, so one that
 * refuses or stays silent delays no other. Ends once the last notice was sent or given up, also long after the run that told it. Fails
 * with `InvalidInput` only.
 */
export async function notices(given: NoticesInput, progress: NoticesProgress = {}): Promise<NoticesEnd> {
  let state = refuseBadInput(() => parseNoticesInput(given));
  const { about, firstRunId } = refuseBadInput(keyOfThisRun);
  const { maxEvents, quietMs } = { ...defaultLimits, ...progress.limits };
  let heardAt = Date.now();
  const show = (after: NoticesInput): void => {
    state = after;
    setCurrentDetails(describeNotices(about, state));
  };
  setHandler(noticeGivenSignal, (sent) => {
    const notice = readNotice(sent);
    if (notice === null) return log.warn('left out: this is no notice');
    const before = state;
    heardAt = Date.now();
    show(addNotice(state, notice));
    if (state.missed !== before.missed) countNotices({ outcome: 'dropped' });
  });
  const isIdle = (): boolean => state.waiting.length === 0;
  const isOver = (): boolean => isIdle() && (state.isEnded || Date.now() >= heardAt + quietMs);
  const isLong = (): boolean => isHistoryLong(maxEvents);
  const sending = new CancellationScope();
  runBeside(condition(isLong).then(() => sending.cancel()));
  show(state);
  while (!isOver()) {
    const [next] = state.waiting;
    if (next) {
      const fate = await sending
        .run(() => sendNotice(next, firstRunId))
        .catch((error: unknown) => {
          if (isCancellation(error) && isLong()) return null; // the next run sends it
          throw error;
        });
      if (fate) show(passNotice(state, fate));
    } else {
      await condition(() => !isIdle() || isOver() || isLong(), quietMs, { summary: 'End if no more notices come' });
    }
    if (!isOver() && isLong()) await continueAsNew<typeof notices>(state, progress);
  }
  return { missed: state.missed };
}

function keyOfThisRun(): NoticesKey {
  const key = fromNoticesId(workflowInfo().workflowId);
  if (key) return key;
  throw new InvalidInput('workflow id: must be "notices/<workflow id>/<run id>/<receiver>"');
}

/** Sends one notice to its URL or the store, with as many attempts as it takes. `run`: the first run of those that tell it. Cancelled, it lets a
 *  request under way end first, and throws `CancelledFailure` if that decides nothing. */
const sendNotice = (notice: Notice, run: string): Promise<NoticeFate> =>
  notice.to === store ? recordChange(notice, run) : requestNotice(notice, run);

/** The deadline of one request is 15 s. Only this timeout reveals a dead worker. */
const startToCloseTimeout = 30_000;
/** The run gives a notice up a day after the change ... */
const giveUpMs = 86_400_000;
/** ... but tries it first: the day may have passed while no worker was alive. */
const leastMs = 60_000;
const retry = { initialInterval: 2_000, backoffCoefficient: 2, maximumInterval: 600_000 };
/** Token requests, on the same queue, go first. */
const priority = { priorityKey: 4 };

async function requestNotice({ to: url, number, at, type, data }: Notice, run: string): Promise<NoticeFate> {
  const { notifyUrl } = proxyActivities<NotifyActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout: Math.max(Date.parse(at) + giveUpMs - Date.now(), leastMs),
    retry,
    priority,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    summary: `Tell ${hostOf(url)} of change ${number}`,
  });
  const { origin } = new URL(url);
  try {
    await notifyUrl({ url, event: { type, timestamp: at, data }, run, number });
    countNotices({ outcome: 'told', origin });
    return { kind: 'told' };
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    const last = lastFailure(error);
    // Temporal does not repeat a cancelled activity, so a failure that may pass is not the end of the notice.
    if (!last?.nonRetryable && CancellationScope.current().consideredCancelled) throw new CancelledFailure('not sent');
    const fate = last ? toFate(last) : expired;
    log.warn('notify failed', { number, reason: fate.reason });
    const isAllowed = last !== undefined && fate.reason !== 'originNotAllowed';
    countNotices({ outcome: fate.reason, ...(isAllowed && { origin }) });
    return fate;
  }
}

type Missed = Extract<NoticeFate, { kind: 'missed' }>;

const expired: Missed = { kind: 'missed', reason: 'expired', why: 'given up after a day' };

/** The failure of the last attempt; undefined if no attempt ended. */
function lastFailure(error: unknown): ApplicationFailure | undefined {
  let cause = error;
  while (cause instanceof ActivityFailure || cause instanceof TimeoutFailure) cause = cause.cause;
  return cause instanceof ApplicationFailure ? cause : undefined;
}

const reasonByType: ReadonlyMap<string, MissedReason> = new Map([
  ['ReceiverGone', 'gone'],
  ['OriginNotAllowed', 'originNotAllowed'],
  ['AddressNotAllowed', 'addressNotAllowed'],
]);

function toFate({ type, message: why, nonRetryable }: ApplicationFailure): Missed {
  const reason = reasonByType.get(type ?? '');
  if (reason === undefined && !nonRetryable) return expired;
  return { kind: 'missed', reason: reason ?? 'refused', why };
}

interface CountedNotices {
  outcome: 'told' | MissedReason;
  /** Only an origin that the operator has allowed, since callers may name any other. */
  origin?: string | undefined;
}

/** Counts what became of notices to URLs, but not during replay. */
const countNotices = ({ outcome, origin = 'other' }: CountedNotices): void =>
  metricMeter
    .createCounter('faretrail_notices', undefined, 'Notices to URLs by what became of them.')
    .add(1, { origin, outcome });

/** For so long a change waits for a store that does not answer. */
const rowKeptForMs = 30 * 86_400_000;
const rowRetry = { initialInterval: 5_000, backoffCoefficient: 2, maximumInterval: 120_000 };

async function recordChange({ number, at, type, data }: Notice, run: string): Promise<NoticeFate> {
  const { recordChange: record } = proxyActivities<StoreActivities>({
    startToCloseTimeout,
    scheduleToCloseTimeout: rowKeptForMs,
    retry: rowRetry,
    cancellationType: 'TRY_CANCEL',
    summary: `Record change ${number} in the store`,
  });
  try {
    await record({ run, notice: number, at, type, change: data as StoredChange['change'] });
    countRows('recorded');
    return { kind: 'told' };
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn('a change was not recorded in the store', { number });
    countRows('expired');
    return { kind: 'missed', reason: 'expired', why: 'given up after 30 days' };
  }
}

/** Not during replay. */
const countRows = (outcome: 'recorded' | 'expired'): void =>
  metricMeter
    .createCounter('faretrail_stored_changes', undefined, 'Changes for the store by what became of them.')
    .add(1, { outcome });
