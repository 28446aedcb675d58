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

/** The run continues as new at the server's hint, or after so many events; tests set it. */
export interface LateNoticesProgress {
  maxEvents?: number;
}

/**
 * Sends the notices that waited when a run ended, so that callers of that run need not wait for them: to each URL in order, with the same
 * ids, and given up after a day. Fails with `InvalidInput` only.
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

/**
 * Hands the waiting notices of a run that is about to end to a run of `lateNotices`, so that no caller waits for a silent URL. False:
 * `mayEnd` became false, so the run goes on and sends its notices itself. A cancellation of the run does not interrupt this.
 */
export const handOverNotices = (urls: UrlNotices, account: AccountName, mayEnd: () => boolean): Promise<boolean> =>
  CancellationScope.nonCancellable(async () => {
    for (;;) {
      await urls.hush();
      if (!mayEnd()) break;
      if (urls.isIdle()) return true;
      const given = urls.left();
      const scope = new CancellationScope();
      await scope.run(() => start(given, account));
      if (mayEnd() && urls.left().log.last === given.log.last) return true;
      // A receiver or a notice was added meanwhile. Two runs must not send to one URL.
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
      staticSummary: shownText(`Notices still to be sent about ${about}`.slice(0, 200)),
    });
  } catch (error) {
    // An operator reset this run to an earlier point: the run that it started before sends these notices.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
