import { condition, continueAsNew, defineQuery, defineUpdate, setHandler, sleep } from '@temporalio/workflow';

// What single tests need of a workflow that the product does not have.

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

/** A followOrder of a release that began otherwise. */
export async function followOrder(): Promise<void> {
  await sleep(1);
  await sleep('1 day');
}
