import { continueAsNew, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { OperatorActivities } from '../../activities/notify.js';
import { knownAfter, type Need, toOperatorEvent } from '../../domain/notify/operator.js';
import { operator } from '../../domain/notify/receivers.js';
import { defaultMaxEvents, isHistoryLong } from '../run-kit.js';
import { give } from './notifier.js';

/** Also the most of which the memo of the run of notices tells. */
const maxWaiting = 200;

/** What a run hands to the next one when it continues as new. Plain JSON. */
interface OperatorTold {
  /** What the operator was told of and still needs a person. */
  known: Need[];
  told: number;
  /** From one look to the next; tests set it. */
  everyMs: number;
}

/**
 * Tells the operator of what needs a person: attention of any run, parked deliveries, a silent subscription. It looks from outside, so it adds
 * nothing to the runs that it is about. Runs until it is cancelled.
 */
export async function operatorEvents(before: Partial<OperatorTold> = {}): Promise<never> {
  const everyMs = Number(before.everyMs) || 30_000;
  // Any program can start a run; only one of ours can have told something.
  const isContinued = workflowInfo().continuedFromExecutionRunId !== undefined;
  let { known, told }: Pick<OperatorTold, 'known' | 'told'> = { known: [], told: 0, ...(isContinued && before) };
  const { watchNeeds } = proxyActivities<OperatorActivities>({
    startToCloseTimeout: 60_000,
    // Applies only while Temporal does not answer.
    retry: { initialInterval: 10_000, backoffCoefficient: 2, maximumInterval: 600_000 },
    cancellationType: 'TRY_CANCEL',
    summary: 'Look for what needs a person',
  });
  while (!isHistoryLong(defaultMaxEvents)) {
    setCurrentDetails(`${known.length} need a person: \`faretrail attention\`. The operator was told ${told} times.`);
    for (const change of await watchNeeds({ known, everyMs })) {
      known = knownAfter(known, change);
      told += 1;
      const notice = {
        ...toOperatorEvent(change),
        number: told,
        at: new Date().toISOString(),
        to: operator,
        isLast: true, // so that the run of notices ends with it: it stays on the version of the worker that began it
      };
      await give({ account: null, receiver: operator, isBegun: told > 1, maxWaiting }, notice);
    }
  }
  return await continueAsNew<typeof operatorEvents>({ known, told, everyMs });
}
