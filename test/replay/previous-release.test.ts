import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { previousRelease } from '../../local/previous-release.js';
import { orderNamedSignal } from '../../src/workflows/messages.js';
import { deliver, newDelivery } from '../support/delivery/deliveries.js';
import {
  announcedCourses,
  announcedStack,
  deliveryCourses,
  goThroughAnnounced,
  goThroughDeliveries,
  slowPolls,
} from '../support/order/courses.js';
import { startOrderStack } from '../support/order/stack.js';
import { requestedRide, standingOf, stands } from '../support/ride/rides.js';
import { runsOf } from '../support/runs.js';
import { tokenPaths } from './paths/tokens.js';
import { type Replayer, startReplayer } from './replayer.js';

/**
 * What no recording holds: orders take random courses on the workflows of the previous release, and their histories
 * replay on the code of today, as live orders do after an upgrade. FARETRAIL_TEST_BUNDLE names a bundle to take instead of
 * the one of the release, and FARETRAIL_TEST_NEXT_BUNDLE one to take instead of the code of today.
 */
const given = process.env.FARETRAIL_TEST_BUNDLE;
const next = process.env.FARETRAIL_TEST_NEXT_BUNDLE;
const { version, code } = given ? { version: given, code: readFileSync(given, 'utf8') } : previousRelease();

const lostCreate = { kind: 'dropConnection', when: 'answer', operation: 'createOrder', times: 1 } as const;

/** While workers are replaced, those of the previous release get answers of workers that have a store, and pass over what these say of it. */
const store = { record: () => Promise.resolve() };

/** Each change comes with its delivery, and again: what an order of a service that announces its changes goes through. */
const announcedChanges = ['Confirmed', 'Driving', 'Confirmed', 'Driving', 'Confirmed'].flatMap((to) => [
  { do: 'announce' as const, to },
  { do: 'wait' as const, ms: 150 },
]);

describe.concurrent(`an order that ${version} follows replays on the code of today`, { timeout: 120_000 }, () => {
  let replayer: Replayer;
  beforeAll(() => {
    replayer = startReplayer(next);
  });
  afterAll(() => replayer.close());

  it('whatever is announced and polled', async ({ onTestFinished }) => {
    const stack = await startOrderStack({ ...announcedStack, workflowBundle: { code }, store });
    onTestFinished(() => stack.close());
    const courses = [announcedChanges, ...fc.sample(announcedCourses, { numRuns: 4 }).flat()];
    const orders = await Promise.all(courses.map((steps) => goThroughAnnounced(stack, steps)));
    for (const order of orders) {
      await replayer.replay(await order.fetchHistory(), order.workflowId);
      await order.terminate();
    }
  });

  it('with more events than a run of today gets', async ({ onTestFinished }) => {
    const stack = await startOrderStack({ workflowBundle: { code } });
    onTestFinished(() => stack.close());
    stack.sandbox.setFault({ kind: 'forbidden' });
    const handle = await stack.follow('business', stack.newOrder('business', [['Confirmed', 0]]));
    while ((await handle.describe()).historyLength < 700) await deliver(handle, newDelivery());
    stack.sandbox.clearFaults();
    await handle.executeUpdate('refreshOrder');
    await replayer.replay(await handle.fetchHistory(), handle.workflowId);
    await handle.terminate();
  });

  it('whatever interleaves', async ({ onTestFinished }) => {
    const stack = await startOrderStack({ ...slowPolls, workflowBundle: { code } });
    onTestFinished(() => stack.close());
    for (const steps of fc.sample(deliveryCourses, { numRuns: 5 })) {
      const workflowId = await goThroughDeliveries(stack, steps);
      const runs = await runsOf(stack.client, workflowId);
      expect(runs.length).toBeGreaterThan(0);
      for (const events of runs) await replayer.replay({ events }, workflowId);
    }
  });
});

// Nothing is patched, so that workers of both releases may do the tasks of one lease, and that an upgrade can be taken back.
it(`a lease that requested tokens on the queue of its account goes on at workers of ${version}`, async ({
  onTestFinished,
}) => {
  const codePath = join(mkdtempSync(join(tmpdir(), 'faretrail-previous-')), 'bundle.js');
  writeFileSync(codePath, code);
  const replayer = startReplayer(codePath);
  onTestFinished(() => replayer.close());
  const stack = await startOrderStack();
  onTestFinished(() => stack.close());
  const lease = await tokenPaths['token-from-the-queue-of-its-account']?.(stack);
  const { workflowId } = lease ?? expect.fail('no such path');
  const handle = stack.client.workflow.getHandle(workflowId);
  await replayer.replay(await handle.fetchHistory(), workflowId);
  await handle.terminate();
}, 60_000);

// Its workers took the signal without a handler for it, and told the URL nothing of the ride itself.
it(`a ride that ${version} orders replays on the code of today, although a delivery named its order and a URL is told`, async ({
  onTestFinished,
}) => {
  const replayer = startReplayer(next);
  onTestFinished(() => replayer.close());
  const stack = await startOrderStack({ workflowBundle: { code }, store });
  onTestFinished(() => stack.close());
  stack.sandbox.setFault(lostCreate);
  const { handle } = await requestedRide(stack, { notify: [{ url: 'https://elsewhere.example/' }] });
  await stands(handle, { attention: expect.objectContaining({ code: 'outcomeUnknown' }) });
  const [{ orderId } = { orderId: '' }] = stack.sandbox.createdOrders();
  await handle.signal(orderNamedSignal, { orderId });
  await standingOf(handle); // the run has taken the signal
  await handle.executeUpdate('resolveRide', { args: [{ orderId } as never] });
  await replayer.replay(await handle.fetchHistory(), handle.workflowId);
  await handle.terminate();
}, 60_000);
