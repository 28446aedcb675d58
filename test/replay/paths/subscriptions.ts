import { expect, vi } from 'vitest';
import type { OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { type SubscriptionRun, subscribe } from '../../support/subscription/subscriptions.js';

const endOf = ({ handle }: SubscriptionRun) =>
  handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
const rotate = ({ handle }: SubscriptionRun, input: object) =>
  handle.executeUpdate('rotateSubscription', { args: [input] });

async function active(
  stack: OrderStack,
  ...more: Parameters<typeof subscribe> extends [unknown, ...infer Rest] ? Rest : never
) {
  const run = await subscribe(stack, ...more);
  await run.active();
  return run;
}

interface RunToKeep {
  workflowId: string;
  runId?: string | undefined;
}

/** Every way through the `subscription` workflow, by name. */
export const subscriptionPaths: Record<string, (stack: OrderStack) => Promise<RunToKeep>> = {
  async 'subscription-ended'(stack: OrderStack) {
    const run = await active(stack);
    await endOf(run);
    return run.handle;
  },
  async 'subscription-rotated-and-moved'(stack: OrderStack) {
    const run = await active(stack);
    await rotate(run, { graceMs: 1_000 });
    await vi.waitFor(async () => expect(await run.accepted()).toHaveLength(1), patient);
    await run.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7' }] });
    await endOf(run);
    return run.handle;
  },
  async 'subscription-with-lost-answer'(stack: OrderStack) {
    stack.sandbox.setFault({ kind: 'dropConnection', when: 'answer', operation: 'createSubscriber', times: 3 });
    const run = await subscribe(stack);
    await run.shows('outcomeUnknown');
    await run.active();
    await endOf(run);
    return run.handle;
  },
  async 'subscription-refused-then-moved'(stack: OrderStack) {
    const fault = stack.sandbox.setFault({ kind: 'forbidden', operation: 'createSubscriber' });
    const run = await subscribe(stack);
    await run.shows('forbidden');
    stack.sandbox.clearFault(fault);
    await run.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7' }] });
    await endOf(run);
    return run.handle;
  },
  async 'subscription-ended-while-refused'(stack: OrderStack) {
    const fault = stack.sandbox.setFault({ kind: 'forbidden', operation: 'createSubscriber' });
    const run = await subscribe(stack);
    await run.shows('forbidden');
    await endOf(run);
    stack.sandbox.clearFault(fault);
    return run.handle;
  },
  async 'subscription-silent-and-renewed'(stack: OrderStack) {
    const silence = { everyMs: 1_000, minOrders: 1 };
    const run = await active(stack, { eventType: 'status_changed', resubscribe: true, silence });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const orderId = stack.newOrder('business', [['Completed', 0]]);
    await (await stack.follow('business', orderId)).result();
    await vi.waitFor(async () => expect((await run.status()).generations).toHaveLength(2), patient);
    await run.shows('subscriptionSilent');
    await endOf(run);
    return run.handle;
  },
  async 'subscription-continued-as-new'(stack: OrderStack) {
    const run = await continued(stack);
    return { workflowId: run.handle.workflowId, runId: run.handle.firstExecutionRunId };
  },
  async 'subscription-after-continue-as-new'(stack: OrderStack) {
    return (await continued(stack)).latest;
  },
  async 'subscription-cancelled'(stack: OrderStack) {
    const { handle } = await active(stack);
    await handle.cancel();
    await handle.result().catch(() => undefined);
    return handle;
  },
  async 'subscription-of-the-wrong-account'(stack: OrderStack) {
    const { handle } = await subscribe(stack, { account: 'partner' as never });
    await handle.result().catch(() => undefined);
    return handle;
  },
};

async function continued(stack: OrderStack) {
  const run = await active(stack, {}, { maxEvents: 8 });
  const latest = stack.client.workflow.getHandle(run.handle.workflowId);
  const { firstExecutionRunId } = run.handle;
  await vi.waitFor(async () => expect((await latest.describe()).runId).not.toBe(firstExecutionRunId), patient);
  await latest.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
  return { ...run, latest };
}
