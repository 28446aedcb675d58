import { condition, defineQuery, defineUpdate, setHandler, sleep } from '@temporalio/workflow';

export const callsQuery = defineQuery<number>('calls');
export const callUpdate = defineUpdate<number>('call');

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
