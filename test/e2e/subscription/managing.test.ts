import { expect, it } from 'vitest';
import { useOrderStack } from '../../support/order/stack.js';
import { subscribe, webhookEnv } from '../../support/subscription/subscriptions.js';

const stack = useOrderStack({ env: webhookEnv({ managing: true }) });

const idsAtTheService = () => stack.sandbox.subscribers().map(({ id }) => id);

it('a service with a list of subscribers: a subscription finds by it what an answer that was lost had made, and removes it at the end', async () => {
  stack.sandbox.setFault({ kind: 'dropConnection', when: 'answer', operation: 'createSubscriber', times: 1 });
  const run = await subscribe(stack);
  const { generations } = await run.active();
  expect(generations).toEqual([expect.objectContaining({ state: 'current', isSecretKnown: true })]);
  expect(idsAtTheService()).toEqual([generations[0]?.subscriberId]);
  expect(await run.accepted()).toEqual([expect.objectContaining({ isSecretLost: false, until: null })]);
  const end = await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'done' }] });
  expect(end).toMatchObject({ removed: [generations[0]?.subscriberId], stillRegistered: [], unclear: 0 });
  expect(idsAtTheService()).toEqual([]);
});

it('a service that deletes subscribers: a subscription removes the old subscriber when its grace is over', async () => {
  const run = await subscribe(stack);
  await run.active();
  await run.handle.executeUpdate('rotateSubscription', { args: [{ graceMs: 2_000 }] });
  expect(idsAtTheService()).toHaveLength(2);
  await expect.poll(() => run.accepted()).toHaveLength(1);
  const { generations } = await run.status();
  await expect.poll(idsAtTheService).toEqual([generations[0]?.subscriberId]);
  await expect.poll(async () => (await run.status()).stillRegistered).toEqual([]);
  await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'done' }] });
});

it('a service that deletes subscribers: a subscription counts one that is gone already as removed', async () => {
  const gone = await subscribe(stack);
  const { generations } = await gone.active();
  stack.sandbox.removeSubscriber(generations[0]?.subscriberId ?? '');
  const end = await gone.handle.executeUpdate('endSubscription', { args: [{ reason: 'done' }] });
  expect(end).toMatchObject({ removed: [generations[0]?.subscriberId], stillRegistered: [] });
});
