import { createHmac } from 'node:crypto';
import { expect, it, onTestFinished, vi } from 'vitest';
import { defaultContractProfile } from '../../../src/contracts/default-contract-profile.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import { createWebhookPaths } from '../../../src/sealing/webhook-paths.js';
import { createDeliveryPort } from '../../../src/temporal/deliveries.js';
import { createAcceptedSubscriptions } from '../../../src/webhooks/accepted-subscriptions.js';
import { createAddresses } from '../../../src/webhooks/addresses.js';
import { createBodyReader } from '../../../src/webhooks/body-reader.js';
import { createIntake } from '../../../src/webhooks/intake.js';
import { createProofRecord } from '../../../src/webhooks/proof-record.js';
import { startIngressServer } from '../../../src/webhooks/server.js';
import { createVerification } from '../../../src/webhooks/verification.js';
import { isLong } from '../../support/long.js';
import { type OrderStack, startOrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { useOwnServer } from '../../support/server/own-server.js';
import { type SubscriptionRun, subscribe, webhookEnv } from '../../support/subscription/subscriptions.js';

const server = useOwnServer();

const account = toAccountName('business');
const body = '{"order_id":"4711","status":"Driving"}';

/** An ingress with the server of an ingress process and the real Temporal; it drops what it accepts. */
async function anIngress({ client, config }: OrderStack) {
  const keys = config.webhookKeys ?? expect.fail('no webhook keys');
  const port = createDeliveryPort({ client, taskQueue: config.taskQueue, untracked: () => 'ignore' });
  const sealer = createSealer(keys);
  const observer = { body() {}, failure() {}, delivery() {} };
  const verification = createVerification(defaultContractProfile.delivery.verification);
  const maxBodyBytes = 32_768;
  const takeDelivery = createIntake({
    ...{ sealer, observer, verification, maxBodyBytes },
    reader: createBodyReader(defaultContractProfile),
    subscriptions: createAcceptedSubscriptions({ read: port.readSubscription, unseal: sealer.unseal }),
    proofs: createProofRecord({ report: port.reportProofs }),
    store: { accept: async () => {}, whyNotReady: () => null },
  });
  const { readCapability } = createWebhookPaths(keys);
  const server = await startIngressServer({
    ...{ host: '127.0.0.1', port: 0, takeDelivery, maxBodyBytes, observer, readPage: null },
    headersToCheck: verification.headersToCheck,
    addresses: createAddresses({ accounts: [{ name: account }], readCapability, perSecond: null }),
  });
  onTestFinished(() => server.close());
  return {
    async post(path: string, headers: Record<string, string> = {}): Promise<number> {
      const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', body, headers });
      await reply.arrayBuffer();
      return reply.status;
    },
  };
}

/** A subscription under the id of production, with the address that the service was given last. */
async function aSubscription(silence = { everyMs: 3_600_000, minOrders: 5 }) {
  const stack = await startOrderStack({ env: webhookEnv(), address: server.address });
  onTestFinished(() => stack.close());
  const run = await subscribe(stack, { eventType: 'status_changed', silence }, undefined, '');
  onTestFinished(async () => void (await run.handle.terminate().catch(() => undefined)));
  await run.active();
  const newest = () => {
    const { hookAddress, secretId } = stack.sandbox.subscribers().at(-1) ?? expect.fail('no subscriber');
    const mac = createHmac('sha256', secretId).update(body).digest('base64');
    return { path: new URL(hookAddress).pathname.replace(/^\/base/, ''), signed: { 'x-drawn': `sha256=${mac}` } };
  };
  return { stack, run, newest };
}

const headerOf = async (run: SubscriptionRun) => (await run.status()).generations[0]?.verified?.header;

it('once one ingress has verified a delivery, another refuses unsigned ones within two seconds, and so does one that starts later; a rotation and a move start anew', async () => {
  const { stack, run, newest } = await aSubscription();
  const [one, other] = [await anIngress(stack), await anIngress(stack)];
  const first = newest();
  expect([await one.post(first.path), await other.post(first.path)]).toEqual([202, 202]);
  expect(await one.post(first.path, first.signed)).toBe(202);
  expect(await one.post(first.path)).toBe(401);
  const since = performance.now();
  await vi.waitFor(async () => expect(await other.post(first.path)).toBe(401), { ...patient, interval: 50 });
  if (isLong) expect(performance.now() - since).toBeLessThan(2_500);
  expect(await other.post(first.path, first.signed)).toBe(202);
  expect(await headerOf(run)).toBe('x-drawn');
  expect(await (await anIngress(stack)).post(first.path), 'an ingress that starts later').toBe(401);

  for (const [update, args] of [
    ['rotateSubscription', {}],
    ['moveSubscription', { publicUrl: 'http://127.0.0.1:9/base/' }],
  ] as const) {
    const before = newest();
    await run.handle.executeUpdate(update, { args: [args] });
    const now = newest();
    expect(now.path, update).not.toBe(before.path);
    expect(await other.post(now.path), update).toBe(202);
    expect(await headerOf(run)).toBeUndefined();
    expect(await one.post(now.path, before.signed), 'the secret of the former address proves nothing').toBe(202);
    expect(await one.post(now.path, now.signed)).toBe(202);
    expect(await one.post(now.path)).toBe(401);
    await vi.waitFor(async () => expect(await headerOf(run)).toBe('x-drawn'), patient);
  }
  expect(await one.post(first.path), 'the first address within its grace').toBe(401);
});

it('a service that changes its signing causes attention, which goes with a rotation; the run ignores other arguments', async () => {
  const { stack, run, newest } = await aSubscription({ everyMs: 500, minOrders: 3 });
  const ingress = await anIngress(stack);
  const { path, signed } = newest();
  for (const odd of [null, 'x', { generation: 'g', header: 'x', verified: 1 }, { verified: 1e9 }])
    await run.handle.signal('changesCounted', odd);
  expect(await ingress.post(path, signed)).toBe(202);
  await vi.waitFor(async () => expect(await headerOf(run)).toBe('x-drawn'), patient);
  const refuses = async () => {
    expect(await ingress.post(path, { 'x-drawn': `sha512=${'A'.repeat(86)}==` })).toBe(401);
    expect((await run.status()).attention?.code).toBe('deliveriesUnverified');
  };
  await vi.waitFor(refuses, { ...patient, interval: 100 });
  await run.shows('deliveriesUnverified');
  await run.handle.executeUpdate('rotateSubscription', { args: [{}] });
  await run.shows(undefined);
  expect(await ingress.post(newest().path), 'the new address is unproven').toBe(202);
});

it('attention about unverified deliveries goes when one is verified again', async () => {
  const { stack, run, newest } = await aSubscription({ everyMs: 500, minOrders: 3 });
  const ingress = await anIngress(stack);
  const { path, signed } = newest();
  await ingress.post(path, signed);
  const refuses = async () => {
    await ingress.post(path);
    expect((await run.status()).attention?.code).toBe('deliveriesUnverified');
  };
  await vi.waitFor(refuses, { ...patient, interval: 100 });
  expect(await ingress.post(path, signed)).toBe(202);
  await run.shows(undefined);
});
