import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  condition,
  continueAsNew,
  setCurrentDetails,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { shownText } from '../../domain/json.js';
import type { AccountName } from '../../domain/keys.js';
import {
  describeLateNotices,
  type LateNotices,
  type LateNoticesEnd,
  type LateNoticesInput,
  parseLateNoticesInput,
} from '../../domain/notify/late-notices.js';
import { lateNoticesId } from '../../domain/workflow-ids.js';
import { defaultMaxEvents, isHistoryLong, refuseBadInput } from '../run-kit.js';
import { rideAccountKey } from '../search-attributes.js';
import { createUrlNotices, type UrlNotices } from './url-notices.js';

/** Beside the server's own hint the run continues as new after so many events; tests set it. */
export interface LateNoticesProgress {
  maxEvents?: number;
}

/**
 * Tells URLs what they were still to be told when a run ended, so that callers of that run do not wait for them: each in
 * its order, under the ids it would have had, given up a day after it became known. Fails with `InvalidInput` only.
 */
export async function lateNotices(
  rawInput: LateNoticesInput,
  progress: LateNoticesProgress = {},
): Promise<LateNoticesEnd> {
  const input = refuseBadInput(() => parseLateNoticesInput(rawInput));
  const { maxEvents = defaultMaxEvents } = progress;
  const urls = createUrlNotices({
    urls: input.urls,
    carried: input.log,
    firstRunId: input.firstRunId,
    maxWaiting: input.log.notices.length, // nothing is added
    onChange: () => show(),
  });
  const show = (): void => setCurrentDetails(describeLateNotices(input.about, urls.left(), urls.missed()));
  show();
  await condition(() => urls.isIdle() || isHistoryLong(maxEvents));
  if (!urls.isIdle()) await urls.hush();
  if (!urls.isIdle()) await continueAsNew<typeof lateNotices>({ ...input, ...urls.left() }, progress);
  return { missed: urls.missed() };
}

interface HandOver {
  urls: UrlNotices;
  account: AccountName;
  /** Nothing has come that this run must still do. */
  mayEnd(): boolean;
}

/**
 * For a run that is about to end: hands what URLs are still to be told to a run of its own, so that no caller waits for a URL
 * that stays silent. False: something came in between, so the run goes on and tells its URLs itself. Not cut off when the run
 * is cancelled.
 */
export const handOverNotices = ({ urls, account, mayEnd }: HandOver): Promise<boolean> =>
  CancellationScope.nonCancellable(async () => {
    for (;;) {
      await urls.hush();
      if (!mayEnd()) break;
      if (urls.isIdle()) return true;
      const given = urls.left();
      const scope = new CancellationScope();
      await scope.run(() => start(given, account));
      if (mayEnd() && urls.left().log.last === given.log.last) return true;
      // Two must not tell one URL: neither the one who wants to be told since a moment ago, nor what was reported then.
      scope.cancel();
      urls.takeBack();
    }
    urls.resume();
    return false;
  });

async function start(left: LateNotices, account: AccountName): Promise<void> {
  const { workflowId: about, firstExecutionRunId: firstRunId } = workflowInfo();
  try {
    await startChild<typeof lateNotices>('lateNotices', {
      workflowId: lateNoticesId({ about, firstRunId, last: left.log.last }),
      args: [{ account, about, firstRunId, ...left }],
      parentClosePolicy: 'ABANDON',
      typedSearchAttributes: [{ key: rideAccountKey, value: account }],
      staticSummary: shownText(`What URLs are still to be told of ${about}`.slice(0, 200)),
    });
  } catch (error) {
    // An operator had this run go back to an earlier point: what was handed over then is being told.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
