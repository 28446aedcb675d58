import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterEach, describe, expect, it } from 'vitest';
import { findLeaks } from '../../../dev/faults/chaos/leaks.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { subscriptionId } from '../../../src/domain/workflow-ids.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import { useOrderStack } from '../../support/order/stack.js';
import { continued, refusesInput } from '../../support/runs.js';
import { type SubscriptionRun, subscribe, webhookEnv } from '../../support/subscription/subscriptions.js';

const stack = useOrderStack({ env: webhookEnv() });
const runs: SubscriptionRun[] = [];
afterEach(async () => {
  stack.sandbox.clearFaults();
  await Promise.all(runs.splice(0).map(({ handle }) => handle.terminate().catch(() => undefined)));
  for (const { id } of stack.sandbox.subscribers()) stack.sandbox.removeSubscriber(id);
});

async function begin(...given: Parameters<typeof subscribe> extends [unknown, ...infer Rest] ? Rest : never) {
  const run = await subscribe(stack, ...given);
  runs.push(run);
  return run;
}

/** The subscriber of the sandbox at an address; the path is known to no one else. */
const subscriberAt = (generation: string | undefined) =>
  stack.sandbox.subscribers().find(({ hookAddress }) => hookAddress.includes(`/${generation}.`));

async function opened(run: SubscriptionRun, sealed: string | undefined): Promise<string> {
  const keys = stack.config.webhookKeys;
  if (!keys) throw new Error('no webhook keys');
  return await createSealer(keys).unseal(sealed ?? '', subscriptionId(await run.status()));
}

describe('a subscription', () => {
  it('is made at an address of its own, and its sealed secret opens with the webhook keys', async () => {
    const run = await begin({ eventType: 'business_report' });
    const { generations } = await run.active();
    const [accepted] = await run.accepted();
    const subscriber = subscriberAt(accepted?.generation);
    expect(generations).toEqual([
      expect.objectContaining({ state: 'current', subscriberId: subscriber?.id, isSecretKnown: true, until: null }),
    ]);
    expect(generations[0]?.createdAt).toMatch(/\.\d{6,}Z$/);
    expect(subscriber).toMatchObject({ eventType: 'business_report' });
    expect(subscriber?.hookAddress).toMatch(
      /^http:\/\/127\.0\.0\.1:9\/base\/webhooks\/business\/business_report\/[0-9a-z]{8,9}\.[\w-]{43}$/,
    );
    expect(accepted).toMatchObject({ until: null, isSecretLost: false });
    expect(await opened(run, accepted?.secrets[0])).toBe(subscriber?.secretId);
  });

  it('publishes its address before the service is asked', async () => {
    stack.sandbox.setFault({ kind: 'slow', operation: 'createSubscriber', delayMs: 2_000 });
    const run = await begin();
    await expect.poll(() => run.accepted()).toHaveLength(1);
    expect(await run.accepted()).toEqual([expect.objectContaining({ secrets: [], isSecretLost: false })]);
    expect((await run.status()).state).toBe('subscribing');
    await run.active();
  });

  it('subscribes at another address when the answer is lost on its way, and accepts what goes to the lost address by its path', async () => {
    stack.sandbox.setFault({ kind: 'dropConnection', when: 'answer', operation: 'createSubscriber', times: 1 });
    const run = await begin();
    const { generations } = await run.active();
    expect(generations.map(({ state }) => state)).toEqual(['current', 'unclear']);
    const [current, lost] = await run.accepted();
    expect(subscriberAt(lost?.generation), 'it was registered all the same').toBeDefined();
    expect(lost).toMatchObject({ secrets: [], isSecretLost: true, until: expect.any(String) });
    expect(current).toMatchObject({ isSecretLost: false, until: null });
    expect(await opened(run, current?.secrets[0])).toBe(subscriberAt(current?.generation)?.secretId);
  });

  it('shows a refusal and asks on without using up addresses or history', async () => {
    stack.sandbox.setFault({ kind: 'forbidden', operation: 'createSubscriber' });
    const run = await begin();
    await run.shows('forbidden');
    expect(await run.status()).toMatchObject({ state: 'subscribing', generations: [{ state: 'requested' }] });
    expect((await run.handle.describe()).historyLength).toBeLessThan(25);
  });

  it('asks for the same address again after a failure that surely made nothing', async () => {
    stack.sandbox.setFault({ kind: 'unavailable', operation: 'createSubscriber', times: 1 });
    stack.sandbox.setFault({ kind: 'unauthorized', operation: 'createSubscriber', times: 1 });
    const run = await begin();
    const { generations } = await run.active();
    expect(generations).toHaveLength(1);
    expect(stack.sandbox.subscribers()).toHaveLength(1);
    expect((await run.handle.describe()).historyLength).toBeLessThan(40);
  });

  it('refuses an account of the interface that has no subscriptions', async () => {
    const run = await begin({ account: toAccountName('partner') });
    await refusesInput(run.handle.result());
    expect(await run.accepted()).toEqual([]);
  });
});

describe('a change of a subscription', () => {
  it('rotates to a new path and secret, and accepts the old ones for the grace', async () => {
    const run = await begin();
    const before = await run.active();
    const after = await run.handle.executeUpdate<typeof before, [object]>('rotateSubscription', {
      args: [{ graceMs: 3_000 }],
    });
    expect(after.generations.map(({ state }) => state)).toEqual(['current', 'replaced']);
    const [current, old] = await run.accepted();
    expect(old?.generation).toBe(before.generations[0]?.generation);
    expect(await opened(run, old?.secrets[0])).toBe(subscriberAt(old?.generation)?.secretId);
    expect(await opened(run, current?.secrets[0])).toBe(subscriberAt(current?.generation)?.secretId);
    await expect.poll(() => run.accepted()).toEqual([expect.objectContaining({ generation: current?.generation })]);
    await expect
      .poll(() => run.status())
      .toMatchObject({ stillRegistered: [before.generations[0]?.subscriberId], state: 'active' });
  });

  it('makes one new address for all who ask at the same time', async () => {
    const run = await begin();
    await run.active();
    await stack.stopWorker();
    const rotations = [1, 2, 3].map(() => run.handle.executeUpdate('rotateSubscription', { args: [{}] }));
    await new Promise((resolve) => setTimeout(resolve, 1_500)); // until all of them have reached the server
    await stack.startWorker();
    await Promise.all(rotations);
    expect((await run.status()).generations).toHaveLength(2);
  });

  it('moves away from an address that the service refuses, without waiting for the next try', async () => {
    const fault = stack.sandbox.setFault({ kind: 'reply', status: 422, operation: 'createSubscriber' });
    const run = await begin();
    await run.shows('forbidden');
    stack.sandbox.clearFault(fault);
    await run.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7/' }] });
    expect(await run.status()).toMatchObject({ state: 'active', attention: null, publicUrl: 'http://127.0.0.1:7' });
    const [current] = await run.accepted();
    expect(subscriberAt(current?.generation)?.hookAddress).toMatch(/^http:\/\/127\.0\.0\.1:7\/webhooks\//);
  });
});

it('a start or a move to a host that FARETRAIL_PUBLIC_URL does not name is shown, and the service hears nothing of it', async () => {
  const elsewhere = 'https://attacker.example';
  const started = await begin({ publicUrl: elsewhere });
  await started.shows('forbidden');
  const moved = await begin();
  await moved.active();
  const move: [object] = [{ publicUrl: elsewhere }];
  await moved.handle.startUpdate('moveSubscription', { args: move, waitForStage: 'ACCEPTED' });
  await moved.shows('forbidden');
  expect((await moved.status()).attention?.message).toContain('FARETRAIL_PUBLIC_URL');
  const sent = stack.sandbox.subscribers().map(({ hookAddress }) => hookAddress);
  expect(sent.filter((address) => address.includes('attacker.example'))).toEqual([]);
  expect((await moved.status()).generations.map(({ state }) => state)).toContain('current');
  // A way back that a person has.
  await moved.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:9/base' }] });
  await moved.shows(undefined);
  await started.handle.terminate();
});

describe('the end of a subscription', () => {
  it('is refused by the ingress from then on, and says what the service still has', async () => {
    const run = await begin();
    const { generations } = await run.active();
    const end = await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'not needed' }] });
    expect(end).toMatchObject({ reason: 'not needed', removed: [], unclear: 0 });
    expect(end).toMatchObject({ stillRegistered: [generations[0]?.subscriberId] });
    expect(await run.handle.result()).toEqual(end);
    expect(await run.accepted()).toEqual([]);
  });

  it('does not wait for a service that does not answer well', async () => {
    stack.sandbox.setFault({ kind: 'unavailable', operation: 'createSubscriber' });
    const run = await begin();
    await expect.poll(() => run.accepted()).toHaveLength(1);
    const end = await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'gave up' }] });
    expect(end).toMatchObject({ stillRegistered: [], unclear: 1 });
    expect(await run.accepted()).toEqual([]);
  });

  it('accepts nothing any more when the run is cancelled instead', async () => {
    const run = await begin();
    await run.active();
    await run.handle.cancel();
    await expect(run.handle.result()).rejects.toThrow();
    expect(await run.accepted()).toEqual([]);
  });
});

it('a subscription keeps memo, addresses and the watch when the run continues as new', async () => {
  const run = await begin({}, { maxEvents: 8 });
  await run.active();
  await continued(run.handle);
  const before = await run.accepted();
  expect(before).toHaveLength(1);
  const now = await run.handle.executeUpdate('rotateSubscription', { args: [{}] });
  expect(now).toMatchObject({ generations: [{ state: 'current' }, { generation: before[0]?.generation }] });
});

it('a subscription leaves no secret, path or token in history, memo, status or failures', async () => {
  const echo = { kind: 'reply', status: 422, operation: 'createSubscriber', times: 1 } as const;
  const run = await begin();
  await run.active();
  const path = stack.sandbox.subscribers()[0]?.hookAddress.split('/').at(-1) ?? '';
  stack.sandbox.setFault({ ...echo, body: { error: path, request_id: path.slice(0, 60) } });
  const rotation = run.handle.startUpdate('rotateSubscription', { args: [{}], waitForStage: 'ACCEPTED' });
  await run.shows('forbidden');
  stack.sandbox.setFault({ kind: 'dropConnection', when: 'answer', operation: 'createSubscriber', times: 1 });
  await run.handle.executeUpdate('moveSubscription', { args: [{ publicUrl: 'http://127.0.0.1:7' }] });
  await (await rotation).result();
  const status = JSON.stringify(await run.status());
  await run.handle.executeUpdate('endSubscription', { args: [{ reason: 'done' }] });
  const subscribers = stack.sandbox.subscribers();
  expect(subscribers).toHaveLength(3);
  const secrets = Object.fromEntries([
    ...subscribers.flatMap(({ secretId, hookAddress }, index) => [
      [`secret ${index}`, secretId],
      [`mac ${index}`, hookAddress.split('.').at(-1) ?? ''],
    ]),
    ...stack.sandbox.issuedTokens().map((token, index) => [`token ${index}`, token]),
    ['webhook key', Buffer.from(stack.config.webhookKeys?.[0].key ?? []).toString('base64url')],
  ]);
  const history = historyToJSON(await run.handle.fetchHistory());
  const memo = JSON.stringify((await run.handle.describe()).memo);
  const texts = { history: Buffer.from(history), memo: Buffer.from(memo), status: Buffer.from(status) };
  expect(findLeaks(secrets, texts)).toEqual([]);
  expect(findLeaks({ id: subscribers[0]?.id ?? '' }, texts), 'what may be there is found').toContain('history: id');
});
