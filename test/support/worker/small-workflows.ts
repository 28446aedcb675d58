import {
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { toAccountName } from '../../../src/domain/keys.js';
import { handOverNotices } from '../../../src/workflows/notify/late-notices.js';
import { createUrlNotices } from '../../../src/workflows/notify/url-notices.js';

// What single tests need of a workflow that the product does not have.
export { lateNotices } from '../../../src/workflows/notify/late-notices.js';

/** What comes in the moment in which a run ends: one more change to tell, or one more receiver. */
export type LateArrival = 'news' | 'newcomer';

const eventOf = (rawStatus: string) => ({ type: 'order.changed', data: { rawStatus } });

/** A run that hands over its notices to `url` while something comes. Gives whether it may end then, and whether after handing that over. */
export async function ending({ url, arrival }: { url: string; arrival: LateArrival }): Promise<boolean[]> {
  const { firstExecutionRunId: firstRunId } = workflowInfo();
  const urls = createUrlNotices({
    urls: [{ url, entry: 0 }],
    carried: undefined,
    firstRunId,
    maxWaiting: 9,
    onChange: () => undefined,
  });
  urls.tell(eventOf('first'));
  const account = toAccountName('business');
  let asked = 0;
  const mayEnd = (): boolean => {
    asked += 1; // for the second time once the other run has been started
    if (asked === 2 && arrival === 'newcomer') urls.welcome({ url, entry: 1 }, eventOf('joined'));
    return asked < 2 || arrival === 'newcomer';
  };
  const before = await handOverNotices(urls, account, mayEnd);
  if (before) return [before];
  urls.tell(eventOf('second'));
  return [before, await handOverNotices(urls, account, () => true)];
}

export const callsQuery = defineQuery<number>('calls');
export const callUpdate = defineUpdate<number>('call');

/** Does one thing if it goes on in time after `ms`, and another one if it is late. */
export async function punctual(ms: number): Promise<'in time' | 'late'> {
  setHandler(callsQuery, () => 0);
  const startedAt = Date.now();
  await sleep(ms);
  if (Date.now() > startedAt + 2 * ms) return 'late';
  await sleep(100);
  return 'in time';
}

/** Does something of its own after `ms`, and ends when it has been called. */
export async function waiting(ms: number): Promise<number> {
  let calls = 0;
  setHandler(callsQuery, () => calls);
  setHandler(callUpdate, () => {
    calls += 1;
    return calls;
  });
  await sleep(ms);
  await sleep(100);
  await condition(() => calls > 0);
  return calls;
}

/** Continues as new so many times, and then waits. */
export async function renewed(times: number): Promise<void> {
  if (times > 0) await continueAsNew<typeof renewed>(times - 1);
  await sleep('1 day');
}
