import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest';
import { findLeaks } from '../../dev/faults/chaos/leaks.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { type SubscriptionMemo, subscriptionMemoField } from '../../src/domain/subscription/subscription.js';
import { followOrderId, parkedDeliveryId, subscriptionId } from '../../src/domain/workflow-ids.js';
import { createNamedKey } from '../../src/sealing/key-ring.js';
import { createSealer } from '../../src/sealing/sealer.js';
import { createWebhookPaths } from '../../src/sealing/webhook-paths.js';
import { encodedKey } from '../settings/env.js';
import type { WorkerEnv } from '../support/accounts.js';
import { jsonFile, textFile } from '../support/json-file.js';
import { type IngressProcess, runIngressProcess, startIngressProcess } from '../support/worker/process.js';
import { useTemporal } from '../support/worker/runtime.js';

const webhookKeys = `w1:${encodedKey(9)}`;

/** Nothing listens at `TEMPORAL_ADDRESS`. */
const ingressEnv: WorkerEnv = {
  FARETRAIL_WEBHOOK_KEYS: webhookKeys,
  FARETRAIL_LOG_LEVEL: 'trace',
  TEMPORAL_ADDRESS: '127.0.0.1:1',
};

const keyRing = [createNamedKey('w1', Buffer.alloc(32, 9))] as const;
const paths = createWebhookPaths(keyRing);
const sealer = createSealer(keyRing);
const secretId = randomUUID();

const temporal = useTemporal();
let folder: string;
let account: ReturnType<typeof toAccountName>;
let env: WorkerEnv;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'faretrail-ingress-'));
  account = toAccountName(`acme-${randomUUID().slice(0, 8)}`); // workflow ids are shared by the tests of a run
  const entry = {
    ...{ interface: 'business', baseUrl: 'https://business.example', clientId: 'x', clientSecret: { env: 'UNSET' } },
    businessId: '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e',
  };
  const file = jsonFile({ accounts: { [account]: entry } });
  env = { ...ingressEnv, FARETRAIL_ACCOUNTS_FILE: file, FARETRAIL_JOURNAL_DIR: join(folder, 'journal') };
  env.FARETRAIL_TASK_QUEUE = `none-${account}`; // no worker: the ingress needs none
});

async function start(over: Record<string, string> = {}): Promise<IngressProcess> {
  const ingress = await startIngressProcess({ ...env, ...over });
  onTestFinished(() => ingress.kill());
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

/** While Temporal does not answer in time, as at first on a busy machine, the ingress keeps a delivery of an ended address. */
const knowsTemporal = (ingress: IngressProcess) =>
  expect.poll(async () => (await post(ingress, 'g1', { order_id: 'early' })).status).toBe(401);

/** What a `subscription` workflow would publish; nothing else of it matters here. */
async function publish(generation: string): Promise<void> {
  const workflowId = subscriptionId({ account, eventType: 'status_changed' });
  const secrets = [await sealer.seal(secretId, workflowId)];
  const memo: SubscriptionMemo = { accepted: [{ generation, until: null, secrets, isSecretLost: false }] };
  const run = { workflowId, taskQueue: `none-${account}`, args: [], memo: { [subscriptionMemoField]: memo } };
  await temporal.client.workflow.start('subscription', run);
}

async function stateOf(workflowId: string): Promise<string> {
  const handle = temporal.client.workflow.getHandle(workflowId);
  const run = await handle.describe().catch(() => undefined);
  return run?.status.name ?? 'unknown';
}
const stateOfOrder = (orderId: string) => stateOf(followOrderId({ account, orderId: toOrderId(orderId) }));

it('an ingress takes deliveries at its own hosts, at addresses of release 0.2.0, and at none of another host', async () => {
  await publish('g2');
  const ingress = await start({
    ...withTemporal(),
    FARETRAIL_PUBLIC_URL: 'https://rides.example,https://new.example/x',
  });
  await knowsTemporal(ingress);
  const at = (publicUrl?: string) =>
    paths.pathOf({ account, eventType: 'status_changed', generation: 'g2', ...(publicUrl && { publicUrl }) });
  const statusOf = async (path: string, host = 'rides.example') => {
    const body = JSON.stringify({ order_id: '4711' });
    const request = httpRequest(ingress.url + path, { method: 'POST', headers: { host } });
    request.end(body);
    const [reply] = await once(request, 'response');
    return (reply as IncomingMessage).resume().statusCode;
  };
  const own = [at(), at('https://rides.example'), at('https://new.example/x')];
  for (const path of own) expect(await statusOf(path, 'behind-a-proxy:8480')).toBe(202);
  for (const host of ['rides.example', 'attacker.example'])
    expect(await statusOf(at('https://attacker.example'), host)).toBe(404);
});

describe('an ingress and Temporal, without a worker', () => {
  it('brings a delivery to its order, refuses one of an ended address, shows no secret, and stops with 0', async () => {
    await publish('g2');
    const ingress = await start(withTemporal());
    await knowsTemporal(ingress);
    expect((await post(ingress, 'g2', { order_id: '4711' })).status).toBe(202);
    expect((await post(ingress, 'g1', { order_id: '4712' })).status).toBe(401);
    await expect.poll(() => stateOfOrder('4711')).toBe('RUNNING');
    const labels = `account="${account}",event_type="status_changed"`;
    const metrics = async () => (await get(ingress, '/metrics')).text;
    await expect.poll(metrics).toContain(`faretrail_forwarded_total{${labels},outcome="started"} 1`);
    await expect.poll(metrics).toContain('faretrail_journal_deliveries 0');
    expect(await metrics()).toContain(`faretrail_deliveries_total{${labels},outcome="accepted"} 1`);

    expect((await post(ingress, 'g2', { private: 'no order' })).status).toBe(202);
    const lastMetrics = Buffer.from(await metrics());
    expect(await ingress.stop()).toBe(0);
    expect(ingress.output()).toContain('ingress stopped');
    const [, mac = ''] = pathOf('g2').split('.');
    const secrets = { secretId, mac, key: webhookKeys.split(':')[1] ?? '', body: 'no order' };
    expect(findLeaks(secrets, { log: Buffer.from(ingress.output()), metrics: lastMetrics })).toEqual([]);
  });

  it('takes deliveries while Temporal is down, keeps them through a stop, then checks and forwards them', async () => {
    const first = await start();
    expect(await get(first, '/readyz')).toMatchObject({ status: 200 });
    expect((await post(first, 'g2', { order_id: '1' })).status).toBe(202);
    const old = await post(first, 'g1', { order_id: '2' });
    expect(old.status).toBe(202);
    const { deliveryId } = (await old.json()) as { deliveryId: string };
    for (const orderId of ['3', '4']) expect((await post(first, 'g2', { order_id: orderId })).status).toBe(202);
    const { deliveryId: event } = (await (await post(first, 'g2', { note: 'x' })).json()) as { deliveryId: string };
    expect(await first.stop('SIGINT')).toBe(0);

    await publish('g2');
    const second = await start(withTemporal());
    await expect.poll(() => stateOfOrder('1')).toBe('RUNNING');
    await expect.poll(() => stateOf(parkedDeliveryId({ account, deliveryId }))).toBe('RUNNING');
    expect(await stateOfOrder('2')).toBe('unknown');
    for (const orderId of ['3', '4']) await expect.poll(() => stateOfOrder(orderId)).toBe('RUNNING');
    await expect.poll(() => stateOf(parkedDeliveryId({ account, deliveryId: event }))).toBe('RUNNING');
    await expect.poll(async () => (await get(second, '/metrics')).text).toContain('faretrail_journal_deliveries 0');
  });

  it('limits what an address may send, and logs and counts a flood in few lines, with no value of a body', async () => {
    await publish('g2');
    const limited = { FARETRAIL_LOG_LEVEL: 'info', FARETRAIL_DELIVERIES_PER_SECOND: '1' };
    const ingress = await start({ ...withTemporal(), ...limited });
    await knowsTemporal(ingress);
    const name = 'Ada Lovelace';
    const shaped = { order_id: `order-${randomUUID()}`, passenger: { name }, '+4915112345678': secretId };
    expect((await post(ingress, 'g2', shaped)).status).toBe(202);
    for (let sent = 0; sent < 100; sent += 1) expect((await post(ingress, 'g1', { name })).status).toBeGreaterThan(400);
    const metrics = (await get(ingress, '/metrics')).text;
    expect(metrics).toContain(
      `faretrail_new_shapes_total{account="${account}",event_type="status_changed",outcome="accepted"} 1`,
    );
    expect(await ingress.stop()).toBe(0);
    const log = ingress.output();
    const shape = '["(body): object","/*: text","/order_id: text","/passenger: object","/passenger/name: text"]';
    expect(log).toContain(`"outcome":"accepted","shape":${shape}`);
    for (const outcome of ['ended', 'tooMany']) {
      const told = log.split('\n').filter((line) => line.includes(`"${outcome}"`) && line.includes('not taken'));
      expect(told.length, 'one a minute').toBeOneOf([1, 2, 3]);
    }
    const secrets = { secretId, name, phone: '4915112345678', key: webhookKeys.split(':')[1] ?? '' };
    expect(findLeaks(secrets, { log: Buffer.from(log), metrics: Buffer.from(metrics) })).toEqual([]);
  });

  it('acknowledges with the journal off only what Temporal has taken', async () => {
    const down = await start({ FARETRAIL_JOURNAL_DIR: 'off' });
    const refused = await post(down, 'g2', { order_id: '1' });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await get(down, '/readyz')).toMatchObject({ status: 503, text: expect.stringContaining('Temporal') });

    await publish('g2');
    const up = await start({ ...withTemporal(), FARETRAIL_JOURNAL_DIR: 'off' });
    await expect.poll(async () => (await post(up, 'g2', { order_id: '1' })).status).toBe(202);
    expect(await stateOfOrder('1')).toBe('RUNNING');
    for (const orderId of ['2', '3']) expect((await post(up, 'g2', { order_id: orderId })).status).toBe(202);
    expect([await stateOfOrder('2'), await stateOfOrder('3')]).toEqual(['RUNNING', 'RUNNING']);
    await expect.poll(() => get(up, '/readyz')).toMatchObject({ status: 200 });
  });
});

it('a hundred bodies of the largest size and the most expensive content at once cost an ingress little time', async () => {
  const ingress = await start();
  const number = '9007199254740993,'; // JavaScript would change it
  const bodies = Array.from({ length: 100 }, (_, n) => `[${number.repeat(1_920)}${n}]`);
  const send = (body: string) => fetch(ingress.url + pathOf('g1'), { method: 'POST', body });
  const cpuSeconds = async () => {
    const { text } = await get(ingress, '/metrics');
    return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]);
  };
  expect((await send('{"order_id":"1"}')).status).toBe(202);
  const before = await cpuSeconds();
  const statuses = await Promise.all(bodies.map(async (body) => (await send(body)).status));
  expect(new Set(statuses)).toEqual(new Set([202]));
  const spent = (await cpuSeconds()) - before; // of all threads; unlike a clock it does not count what other programs take
  expect(spent).toBeLessThan(2);
  expect((await send(`[${number.repeat(15_000)}1]`)).status).toBe(413);
});

it('an ingress with a port for metrics shows its pages there, and only deliveries where the service sends them', async () => {
  const ingress = await start({ ...withTemporal(), FARETRAIL_INGRESS_METRICS_PORT: '0' });
  const [, port] = /"metricsPort":(\d+)/.exec(ingress.output()) ?? [];
  const statusesAt = (base: string) =>
    Promise.all(['/healthz', '/readyz', '/metrics'].map(async (path) => (await fetch(base + path)).status));
  expect(await statusesAt(ingress.url)).toEqual([404, 404, 404]);
  expect(await statusesAt(`http://127.0.0.1:${port}`)).toEqual([200, 200, 200]);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toContain('faretrail_delivery_seconds');
});

describe('an ingress that cannot start', () => {
  it('says which settings are wrong and ends with 2', async () => {
    const { code, output } = await runIngressProcess({ FARETRAIL_INGRESS_PORT: 'x', FARETRAIL_WEBHOOK_KEYS: 'w1:no' });
    expect(code).toBe(2);
    expect(output).toMatch(/FARETRAIL_WEBHOOK_KEYS: [\s\S]*FARETRAIL_INGRESS_PORT: [\s\S]*FARETRAIL_ACCOUNTS_FILE: /);
  });

  it('says that its port is taken and ends with 2', async () => {
    const { port } = new URL((await start()).url);
    const other = { FARETRAIL_INGRESS_PORT: port, FARETRAIL_JOURNAL_DIR: join(folder, 'other') };
    const taken = 'FARETRAIL_INGRESS_PORT: another program listens at this port (EADDRINUSE)';
    const ended = { code: 2, output: expect.stringContaining(taken) };
    expect(await runIngressProcess({ ...env, ...other })).toMatchObject(ended);
  });

  it('says that its journal cannot be used, or is in use, and ends with 2', async () => {
    const named = { code: 2, output: expect.stringContaining('FARETRAIL_JOURNAL_DIR: ') };
    const belowAFile = join(textFile(''), 'journal');
    expect(await runIngressProcess({ ...env, FARETRAIL_JOURNAL_DIR: belowAFile })).toMatchObject(named);
    await start();
    expect(await runIngressProcess(env)).toMatchObject(named);
  });
});
