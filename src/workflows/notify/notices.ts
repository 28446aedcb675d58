import {
  CancellationScope,
  condition,
  isCancellation,
  log,
  patched,
  setCurrentDetails,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { InvalidInput } from '../../domain/errors.js';
import {
  addNotice,
  describeNotices,
  isRefusedByStore,
  missedMemoField,
  missedStatus,
  type NoticesEnd,
  type NoticesInput,
  parseNoticesInput,
  passNotice,
  readNotice,
  refusedByStore,
  resend,
  toMissedMemo,
  toNoticesEnd,
} from '../../domain/notify/notices.js';
import { fromNoticesId, type NoticesKey } from '../../domain/workflow-ids.js';
import { noticeGivenSignal, resendRequestedSignal } from '../messages.js';
import { continueRun, defaultMaxEvents, isTimeToContinue, refuseBadInput, runBeside, setHandler } from '../run-kit.js';
import { rideAttentionKey, rideStatusKey, writeAttributes } from '../search-attributes.js';
import { settle } from '../settling.js';
import { countNotices, sendNotice } from './sending.js';

/** When the run continues as new, if the server does not hint at it before, and when it ends without a last notice, or with notices that its
 *  receiver missed. */
export interface NoticesLimits {
  maxEvents: number;
  /** The run that tells may have been terminated; if it goes on, its next notice starts another run. So long a person may have a missed notice
   *  sent again. */
  quietMs: number;
}

const defaultLimits: NoticesLimits = { maxEvents: defaultMaxEvents, quietMs: 7 * 86_400_000 };

/** Tests set it. */
interface NoticesProgress {
  limits?: Partial<NoticesLimits>;
}

/**
 * Sends the notices of an order, a ride or a report to one URL, or to the store, one after the other. Each receiver has a run, so one that
 * refuses or stays silent delays no other. Ends once the last notice was sent, also long after the run that told it, or a week after the
 * receiver missed one. Fails with `InvalidInput` only.
 */
export async function notices(given: NoticesInput, progress: NoticesProgress = {}): Promise<NoticesEnd> {
  let state = refuseBadInput(() => parseNoticesInput(given));
  const { about, firstRunId } = refuseBadInput(keyOfThisRun);
  const { maxEvents, quietMs } = { ...defaultLimits, ...progress.limits };
  let heardAt = Date.now();
  const show = (after: NoticesInput): void => {
    state = after;
    setCurrentDetails(describeNotices(about, state));
    publishMissed(state);
  };
  setHandler(noticeGivenSignal, (sent) => {
    const notice = readNotice(sent);
    if (notice === null) return log.warn('left out: this is no notice');
    const before = state;
    heardAt = Date.now();
    show(addNotice(state, notice));
    if (state.missed !== before.missed) countNotices({ outcome: 'dropped' });
  });
  setHandler(resendRequestedSignal, (request) => {
    heardAt = Date.now();
    show(resend(state, request, new Date().toISOString()));
  });
  const isIdle = (): boolean => state.waiting.length === 0;
  const isDone = (): boolean => state.isEnded && !state.kept?.length;
  const isOver = (): boolean => isIdle() && (isDone() || Date.now() >= heardAt + quietMs);
  let isLeaving = false;
  // A target version may be taken back, but not the cancellation of a request that was under way.
  const isLong = (): boolean => {
    isLeaving ||= isTimeToContinue(maxEvents);
    return isLeaving;
  };
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
      const keeps = fate?.kind === 'missed' && patched('missed-notices-are-kept');
      if (keeps) heardAt = Date.now();
      if (fate) show(passNotice(state, fate, keeps ? new Date().toISOString() : null));
    } else {
      await condition(() => !isIdle() || isOver() || isLong(), quietMs, { summary: 'End if no more notices come' });
    }
    if (isOver() || !isLong()) continue;
    await settle();
    await continueRun<typeof notices>([state, progress]);
  }
  return toNoticesEnd(state);
}

/** Shows what may be sent again to the list of such notices, which reads memos instead of asking each run. */
function publishMissed(state: NoticesInput): void {
  const missed = toMissedMemo(state);
  const published = workflowInfo().memo?.[missedMemoField] ?? [];
  if (JSON.stringify(published) !== JSON.stringify(missed)) upsertMemo({ [missedMemoField]: missed });
  writeAttributes([
    { key: rideStatusKey, value: missed.length > 0 ? missedStatus : null },
    { key: rideAttentionKey, value: missed.some(isRefusedByStore) ? refusedByStore : null },
  ]);
}

function keyOfThisRun(): NoticesKey {
  const key = fromNoticesId(workflowInfo().workflowId);
  if (key) return key;
  throw new InvalidInput('workflow id: must be "notices/<workflow id>/<run id>/<receiver>"');
}
