import { afterAll, beforeAll, expect, it } from 'vitest';
import { type NotifyReceiver, startNotifyReceiver } from '../support/notify-receiver.js';
import { scripted, startTimeSkippingStack, type TimeSkippingStack } from '../support/time-skipping-stack.js';

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

it('a URL that stays silent is given up a day after each change, and then the run ends', async () => {
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
  expect(lasted).toBeGreaterThan(25.5 * hour);
  expect(lasted).toBeLessThan(26.5 * hour);
  const tried = receiver.received.filter(({ path }) => path === '/down');
  expect(new Set(tried.map(({ event }) => event.rawStatus))).toEqual(new Set(['Driving', 'Completed']));
  expect(tried.length, 'from 2 s to every ten minutes').toBeLessThan(200);
  const { currentDetails } = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  expect(currentDetails).toMatch(/Not notified: notify 0 .*, 2, last no\. 2: given up after a day/);
}, 120_000);
