import { condition, continueAsNew, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { LateNoticesEnd, LateNoticesInput } from '../domain/late-notices.js';
import { describeLateNotices } from '../domain/late-notices-details.js';
import { parseLateNoticesInput } from '../domain/late-notices-input.js';
import { refuseBadInput } from './bad-input.js';
import { createUrlNotices } from './url-notices.js';

/** Below the 10,240 events at which the server warns. */
const defaultMaxEvents = 4_000;

/** Beside the server's own hint the run continues as new after so many events; tests set it. */
export interface LateNoticesProgress {
  maxEvents?: number;
}

/**
 * Tells URLs what they were still to be told when a run ended, so that nobody who waits for that run waits for them: each in
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
  await condition(() => urls.isIdle() || isLong(maxEvents));
  if (!urls.isIdle()) await urls.hush();
  if (!urls.isIdle()) await continueAsNew<typeof lateNotices>({ ...input, ...urls.left() }, progress);
  return { missed: urls.missed() };
}

function isLong(maxEvents: number): boolean {
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || historyLength >= maxEvents;
}
