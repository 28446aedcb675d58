import { expect, vi } from 'vitest';
import { changesCountedSignal } from '../../../src/workflows/messages.js';
import type { OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { continued } from '../../support/runs.js';
import { type SubscriptionRun, subscribe } from '../../support/subscription/subscriptions.js';
import { cancelled, ended, firstRunOf, type Paths, type RecordedRun } from './path.js';

async function endedWell({ handle }: SubscriptionRun): Promise<RecordedRun> {
  await handle.executeUpdate('endSubscription', { args: [{ reason: 'recorded' }] });
  return handle;
}
const move = ({ handle }: SubscriptionRun) =>
  handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7' }] });

async function active(...given: Parameters<typeof subscribe>) {
  const run = await subscribe(...given);
  await run.active();
  return run;
}

/** As an ingress does that has verified and refused so many deliveries. */
const reportProofs = ({ handle }: SubscriptionRun, generation: string | undefined, verified: number, refused: number) =>
  handle.signal(changesCountedSignal, {
    ...{
      generation: generation ?? '',
      verified,
      refused,
      header: verified > 0 ? 'x-drawn' : null,
      from: new Date().toISOString(),
    },
  });

/** Every way through the `subscription` workflow, by name. */
export const subscriptionPaths: Paths = {
  async 'subscription-rotated-and-moved'(stack) {
    const run = await active(stack);
    await run.handle.executeUpdate('rotateSubscription', { args: [{ graceMs: 1_000 }] });
    await vi.waitFor(async () => expect(await run.accepted()).toHaveLength(1), patient);
    await move(run);
    return await endedWell(run);
  },
  async 'subscription-with-lost-answer'(stack) {
    stack.sandbox.setFault({ kind: 'dropConnection', when: 'answer', operation: 'createSubscriber', times: 3 });
    const run = await subscribe(stack);
    await run.shows('outcomeUnknown');
    await run.active();
    return await endedWell(run);
  },
  async 'subscription-refused-then-moved'(stack) {
    const fault = stack.sandbox.setFault({ kind: 'forbidden', operation: 'createSubscriber' });
    const run = await subscribe(stack);
    await run.shows('forbidden');
    stack.sandbox.clearFault(fault);
    await move(run);
    return await endedWell(run);
  },
  async 'subscription-ended-while-refused'(stack) {
    const fault = stack.sandbox.setFault({ kind: 'forbidden', operation: 'createSubscriber' });
    const run = await subscribe(stack);
    await run.shows('forbidden');
    await endedWell(run);
    stack.sandbox.clearFault(fault);
    return run.handle;
  },
  async 'subscription-silent-and-renewed'(stack) {
    const silence = { everyMs: 1_000, minOrders: 1 };
    const run = await active(stack, { eventType: 'status_changed', resubscribe: true, silence });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    // As the watch of the account does that polls for the subscription's id of production.
    await run.handle.signal(changesCountedSignal, { read: 1, delivered: 0, from: new Date().toISOString() });
    await vi.waitFor(async () => expect((await run.status()).generations).toHaveLength(2), patient);
    await run.shows('subscriptionSilent');
    return await endedWell(run);
  },
  async 'subscription-signed-then-unverified'(stack) {
    const silence = { everyMs: 200, minOrders: 1 };
    const run = await active(stack, { silence });
    const { generations } = await run.status();
    const report = (verified: number, refused: number) =>
      reportProofs(run, generations[0]?.generation, verified, refused);
    await report(1, 0);
    await vi.waitFor(async () => expect((await run.accepted())[0]?.verified).toBeDefined(), patient);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await report(0, 3);
    await run.shows('deliveriesUnverified');
    await run.handle.executeUpdate('rotateSubscription', { args: [{}] });
    await run.shows(undefined);
    return await endedWell(run);
  },
  // Its history is of a worker that did not know this form of the signal yet, as those of 0.2.0.
  async 'subscription-signed-before-an-upgrade'(stack) {
    const run = await active(stack);
    const { generations } = await run.status();
    await reportProofs(run, generations[0]?.generation, 1, 0);
    await run.status();
    await run.handle.executeUpdate('rotateSubscription', { args: [{}] });
    return await endedWell(run);
  },
  'subscription-continued-as-new': async (stack) => firstRunOf(await continuedRun(stack)),
  'subscription-after-continue-as-new': async (stack) => ({ workflowId: (await continuedRun(stack)).workflowId }),
  'subscription-cancelled': async (stack) => await cancelled((await active(stack)).handle),
  'subscription-of-the-wrong-account': async (stack) =>
    await ended((await subscribe(stack, { account: 'partner' as never })).handle),
};

async function continuedRun(stack: OrderStack) {
  const run = await active(stack, {}, { maxEvents: 8 });
  await continued(run.handle);
  await endedWell(run);
  return run.handle;
}
