import { afterAll, beforeAll, expect, it } from 'vitest';
import { renewTokenSignal } from '../../src/workflows/messages.js';
import { startTimeSkippingStack, type TimeSkippingStack } from '../support/order/time-skipping.js';

let stack: TimeSkippingStack;
beforeAll(async () => {
  stack = await startTimeSkippingStack();
});
afterAll(() => stack.close());

it('a token can be read although the server has dropped the memo of a run that continued as new', async () => {
  const first = await stack.startLease({ maxEvents: 8 });
  await first.signal(renewTokenSignal, { insteadOf: null });
  const latest = stack.env.client.workflow.getHandle(first.workflowId); // this server drops it
  await expect.poll(async () => (await latest.describe()).runId).not.toBe(first.firstExecutionRunId);
  await expect
    .poll(async () => (await latest.describe()).memo)
    .toMatchObject({ lease: { token: { id: expect.any(String) } } });
  await latest.terminate();
});
