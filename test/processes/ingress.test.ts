import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { findLeaks } from '../../chaos/leaks.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { type SubscriptionMemo, subscriptionMemoField } from '../../src/domain/subscription/subscription.js';
import { followOrderId, parkedDeliveryId, subscriptionId } from '../../src/domain/workflow-ids.js';
import { parseKeyRing } from '../../src/sealing/key-ring.js';
import { createSealer } from '../../src/sealing/sealer.js';
import { createWebhookPaths } from '../../src/sealing/webhook-paths.js';
import { encodedKey } from '../settings/env.js';
import type { WorkerEnv } from '../support/accounts.js';
import { jsonFile } from '../support/json-file.js';
import { type IngressProcess, runIngressProcess, startIngressProcess } from '../support/worker/process.js';
import { useTemporal } from '../support/worker/runtime.js';

const webhookKeys = `w1:${encodedKey(9)}`;

/** Settings of one business account; nothing listens at `TEMPORAL_ADDRESS`. */
const ingressEnv: WorkerEnv = {
  FARETRAIL_BUSINESS_BASE_URL: 'https://business.example',
  FARETRAIL_BUSINESS_CLIENT_ID: 'business-id',
  FARETRAIL_BUSINESS_ID: '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e',
  FARETRAIL_WEBHOOK_KEYS: webhookKeys,
  FARETRAIL_LOG_LEVEL: 'trace',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
};

const parsed = parseKeyRing(webhookKeys);
if (!('ring' in parsed)) throw new Error('the keys of this test are wrong');
const paths = createWebhookPaths(parsed.ring);
const sealer = createSealer(parsed.ring);
const secretId = randomUUID();

const temporal = useTemporal();
let folder: string;
let account: ReturnType<typeof toAccountName>;
let env: WorkerEnv;
const running: IngressProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'faretrail-ingress-'));
  account = toAccountName(`acme-${randomUUID().slice(0, 8)}`); // workflow ids are shared by the tests of a run
  const entry = {
    ...{ interface: 'business', baseUrl: 'https://business.example', clientId: 'x', clientSecret: { env: 'UNSET' } },
    businessId: ingressEnv.FARETRAIL_BUSINESS_ID,
  };
  const file = jsonFile({ accounts: { [account]: entry } });
  env = { ...ingressEnv, FARETRAIL_ACCOUNTS_FILE: file, FARETRAIL_JOURNAL_DIR: join(folder, 'journal') };
  env.FARETRAIL_TASK_QUEUE = `none-${account}`; // no worker: the ingress needs none
});
afterEach(async () => {
  for (const ingress of running.splice(0)) await ingress.kill();
  await rm(folder, { recursive: true, force: true });
});

async function start(over: Record<string, string> = {}): Promise<IngressProcess> {
  const ingress = await startIngressProcess({ ...env, ...over });
  running.push(ingress);
  return ingress;
}

const withTemporal = () => ({ TEMPORAL_ADDRESS: inject('temporalAddress') });
const pathOf = (generation: string) => paths.pathOf({ account, eventType: 'status_changed', generation });
const post = (ingress: IngressProcess, generation: string, body: object) =>
  fetch(ingress.url + pathOf(generation), { method: 'POST', body: JSON.stringify(body) });
const get = async (ingress: IngressProcess, page: string) => {
  const reply = await fetch(ingress.url + page);
  return { status: reply.status, text: await reply.text() };
};

/** While Temporal does not answer in time, as it may at first on a busy machine, a delivery of an ended address is kept. */
const knowsTemporal = (ingress: IngressProcess) =>
  expect.poll(async () => (await post(ingress, 'g1', { order_id: 'early' })).status).toBe(401);

/** What a `subscription` workflow would publish; nothing else of it matters here. */
async function publish(generation: string): Promise<void> {
  const workflowId = subscriptionId({ account, eventType: 'status_changed' });
  const secrets = [await sealer.seal(secretId, workflowId)];
  const memo: SubscriptionMemo = { accepted: [{ generation, until: null, secrets, isSecretLost: false }] };
  const taskQueue = `none-${account}`;
  await temporal.client.workflow.start('subscription', {
    workflowId,
    taskQueue,
    args: [],
    memo: { [subscriptionMemoField]: memo },
  });
}

const isKnown = (workflowId: string) =>
  temporal.client.workflow
    .getHandle(workflowId)
    .describe()
    .then(
      ({ status }) => status.name,
      () => 'unknown',
    );

describe('an ingress and Temporal, without a worker', () => {
  it('brings a delivery to its order, refuses one of an ended address, and stops with 0', async () => {
    await publish('g2');
    const ingress = await start(withTemporal());
    await knowsTemporal(ingress);
    expect((await post(ingress, 'g2', { order_id: '4711', secret: secretId })).status).toBe(202);
    expect((await post(ingress, 'g1', { order_id: '4712' })).status).toBe(401);
    await expect.poll(() => isKnown(followOrderId({ account, orderId: toOrderId('4711') }))).toBe('RUNNING');
    const labels = `account="${account}",event_type="status_changed"`;
    const metrics = async () => (await get(ingress, '/metrics')).text;
    await expect.poll(metrics).toContain(`faretrail_forwarded_total{${labels},outcome="started"} 1`);
    await expect.poll(metrics).toContain('faretrail_journal_deliveries 0');
    expect(await metrics()).toContain(`faretrail_deliveries_total{${labels},outcome="accepted"} 1`);
    expect(await metrics()).toContain(`faretrail_secret_seen_total{account="${account}",place="body"} 1`);
    expect(await ingress.stop()).toBe(0);
    expect(ingress.output()).toContain('ingress stopped');
  });

  it('takes deliveries while Temporal is down, keeps them over a stop, and checks and forwards them afterwards', async () => {
    const first = await start();
    expect(await get(first, '/readyz')).toMatchObject({ status: 200 });
    expect((await post(first, 'g2', { order_id: '1' })).status).toBe(202);
    const old = await post(first, 'g1', { order_id: '2' });
    expect(old.status).toBe(202);
    const { deliveryId } = (await old.json()) as { deliveryId: string };
    expect(await first.stop('SIGINT')).toBe(0);

    await publish('g2');
    const second = await start(withTemporal());
    await expect.poll(() => isKnown(followOrderId({ account, orderId: toOrderId('1') }))).toBe('RUNNING');
    await expect.poll(() => isKnown(parkedDeliveryId({ account, deliveryId }))).toBe('RUNNING');
    expect(await isKnown(followOrderId({ account, orderId: toOrderId('2') }))).toBe('unknown');
    await expect.poll(async () => (await get(second, '/metrics')).text).toContain('faretrail_journal_deliveries 0');
  });

  it('with the journal off acknowledges only what Temporal has taken', async () => {
    const down = await start({ FARETRAIL_JOURNAL_DIR: 'off' });
    const refused = await post(down, 'g2', { order_id: '1' });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await get(down, '/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('Temporal') });

    await publish('g2');
    const up = await start({ ...withTemporal(), FARETRAIL_JOURNAL_DIR: 'off' });
    await expect.poll(async () => (await post(up, 'g2', { order_id: '1' })).status).toBe(202);
    expect(await isKnown(followOrderId({ account, orderId: toOrderId('1') }))).toBe('RUNNING');
    await expect.poll(() => get(up, '/readyz')).toMatchObject({ status: 200 });
  });

  it('shows no key, secret or address in its log and metrics', async () => {
    await publish('g2');
    const ingress = await start(withTemporal());
    await knowsTemporal(ingress);
    await post(ingress, 'g2', { order_id: '1', secret: secretId });
    await post(ingress, 'g2', { private: 'no order' });
    await post(ingress, 'g1', { order_id: '2' });
    const metrics = (await get(ingress, '/metrics')).text;
    await ingress.stop();
    const [, mac = ''] = pathOf('g2').split('.');
    const secrets = { secretId, mac, key: webhookKeys.split(':')[1] ?? '', body: 'no order' };
    expect(findLeaks(secrets, { log: Buffer.from(ingress.output()), metrics: Buffer.from(metrics) })).toEqual([]);
    expect(ingress.output()).toContain('"place":"body","at":"/secret"');
  });
});

describe('an ingress that cannot start', () => {
  it('says which settings are wrong and ends with 2', async () => {
    const { code, output } = await runIngressProcess({ FARETRAIL_INGRESS_PORT: 'x', FARETRAIL_WEBHOOK_KEYS: 'w1:no' });
    expect(code).toBe(2);
    expect(output).toMatch(/FARETRAIL_WEBHOOK_KEYS: [\s\S]*FARETRAIL_INGRESS_PORT: [\s\S]*FARETRAIL_ACCOUNTS_FILE: /);
  });

  it('says that its port is taken and ends with 1', async () => {
    const { url } = await start();
    const FARETRAIL_INGRESS_PORT = new URL(url).port;
    const other = { ...env, FARETRAIL_INGRESS_PORT, FARETRAIL_JOURNAL_DIR: join(folder, 'other') };
    const { code, output } = await runIngressProcess(other);
    expect(code).toBe(1);
    expect(output).toContain(
      `FARETRAIL_INGRESS_PORT: cannot listen at 127.0.0.1, port ${FARETRAIL_INGRESS_PORT} (EADDRINUSE)`,
    );
  });

  it('says that its journal cannot be used, or is in use, and ends with 1', async () => {
    await writeFile(join(folder, 'file'), '');
    const unusable = await runIngressProcess({ ...env, FARETRAIL_JOURNAL_DIR: join(folder, 'file', 'journal') });
    expect(unusable).toMatchObject({ code: 1, output: expect.stringContaining('FARETRAIL_JOURNAL_DIR: ') });
    await start();
    expect(await runIngressProcess(env)).toMatchObject({
      code: 1,
      output: expect.stringContaining('FARETRAIL_JOURNAL_DIR'),
    });
  });
});
