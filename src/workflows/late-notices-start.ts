import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { CancellationScope, startChild, workflowInfo } from '@temporalio/workflow';
import { shownText } from '../domain/json-text.js';
import type { AccountName } from '../domain/keys.js';
import type { LateNotices } from '../domain/late-notices.js';
import { lateNoticesId } from '../domain/workflow-ids.js';
import type { lateNotices } from './late-notices.js';
import { rideAccountKey } from './search-attribute-keys.js';
import type { UrlNotices } from './url-notices.js';

interface HandOver {
  urls: UrlNotices;
  account: AccountName;
  /** Nothing has come that this run must still do. */
  mayEnd(): boolean;
}

/**
 * For a run that is about to end: hands what URLs are still to be told to a run of its own, so that nobody waits for a URL
 * that stays silent. False: something came in between, so the run goes on and tells its URLs itself. Not cut off when the run
 * is cancelled.
 */
export const handOver = ({ urls, account, mayEnd }: HandOver): Promise<boolean> =>
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
