import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { lateNoticesId } from '../../src/domain/workflow-ids.js';
import type { lateNotices } from '../../src/workflows/notify/late-notices.js';
import { isLong } from '../support/long.js';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify/receiver.js';
import { scripted, startTimeSkippingStack, type TimeSkippingStack } from '../support/order/time-skipping.js';

const minute = 60_000;
const hour = 60 * minute;

let receiver: NotifyReceiver;
let stack: TimeSkippingStack;
beforeAll(async () => {
  receiver = await startNotifyReceiver();
  stack = await startTimeSkippingStack(receiver.env);
});
afterAll(async () => {
  await stack.close();
  await receiver.close();
});

/** What goes on to tell URLs after the end of this run, which had told them of `last` things. */
const lateOf = (
  { workflowId: about, firstExecutionRunId: firstRunId }: WorkflowHandleWithFirstExecutionRunId,
  last: number,
) => stack.env.client.workflow.getHandle<typeof lateNotices>(lateNoticesId({ about, firstRunId, last }));

it('a URL that stays silent delays no end of a run, and is given up a day after each change', async () => {
  receiver.answer('/down', 503);
  const handle = await stack.start(
    scripted([
      ['Driving', 0],
      ['Completed', 2 * hour],
    ]),
    { notify: [{ url: `${receiver.origin}/down` }, { url: `${receiver.origin}/up` }] },
  );
  expect(await handle.result()).toMatchObject({ outcome: 'completed' });
  expect(receiver.taken('/up')).toEqual(['Driving', 'Completed']);
  const { startTime, closeTime } = await handle.describe();
  const lasted = (closeTime?.getTime() ?? Number.NaN) - startTime.getTime();
  expect(lasted).toBeLessThan(2.1 * hour);

  const late = lateOf(handle, 2);
  const { missed } = await late.result();
  expect(missed).toEqual([expect.stringMatching(/^notify\[0\] .*, 2, last no\. 2: given up after a day$/)]);
  const ended = (await late.describe()).closeTime?.getTime() ?? Number.NaN;
  expect(ended - startTime.getTime()).toBeGreaterThan(25.5 * hour);
  expect(ended - startTime.getTime()).toBeLessThan(26.5 * hour);
  const tried = receiver.received.filter(({ path }) => path === '/down');
  expect(new Set(tried.map(({ event }) => event.rawStatus))).toEqual(new Set(['Driving', 'Completed']));
  expect(tried.length, 'from 2 s to every ten minutes').toBeLessThan(200);
}, 120_000);

// Time is not skipped while a request is under way, so this takes a quarter of a minute.
it.runIf(isLong)(
  'a URL whose answer hangs at the end is told again only when that request must be over, under the same id',
  async () => {
    const release = receiver.hold('/hangs');
    const url = `${receiver.origin}/hangs`;
    const handle = await stack.start(scripted([['Completed', 0]]), { notify: [{ url }] });
    expect(await handle.result()).toMatchObject({ outcome: 'completed' });
    release();
    const late = lateOf(handle, 1);
    expect(await late.result()).toEqual({ missed: [] });
    const ids = receiver.received.filter(({ path }) => path === '/hangs').map(({ id }) => id);
    expect(ids).toEqual(Array(2).fill(`msg_${handle.firstExecutionRunId}_1`));
    const { startTime, closeTime } = await late.describe();
    expect((closeTime?.getTime() ?? Number.NaN) - startTime.getTime()).toBeGreaterThan(13_000);
  },
  60_000,
);
