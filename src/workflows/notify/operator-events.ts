import { continueAsNew, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { OperatorActivities } from '../../activities/notify.js';
import {
  knownAfter,
  type OperatorEventsInput,
  parseOperatorEventsInput,
  toOperatorEvent,
} from '../../domain/notify/operator.js';
import { operator } from '../../domain/notify/receivers.js';
import { untilNews } from '../activity-options.js';
import { defaultMaxEvents, isHistoryLong, refuseBadInput } from '../run-kit.js';
import { give } from './notifier.js';

/** Also the most of which the memo of the run of notices tells. */
const maxWaiting = 200;

/**
 * Tells the operator of what needs a person: attention of any run, parked deliveries, a silent subscription. It looks from outside, so it adds
 * nothing to the runs that it is about. Runs until it is cancelled. Fails with `InvalidInput` only.
 */
export async function operatorEvents(given: OperatorEventsInput): Promise<never> {
  let { known = [], told = 0, everyMs = 30_000 } = refuseBadInput(() => parseOperatorEventsInput(given));
  const summary = 'Look for what needs a person';
  const { watchNeeds } = proxyActivities<OperatorActivities>({ ...untilNews, summary });
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
