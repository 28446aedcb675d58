import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { findLeaks } from '../../dev/faults/chaos/leaks.js';
import { toAccountName } from '../../src/domain/keys.js';
import type { ParkedDeliveryInput } from '../../src/domain/parked.js';
import { followOrderId, parkedDeliveryId, subscriptionId } from '../../src/domain/workflow-ids.js';
import { parseKeyRing } from '../../src/sealing/key-ring.js';
import { createSealer } from '../../src/sealing/sealer.js';
import { loadTemporalSettings } from '../../src/temporal/settings.js';
import { sealContent } from '../../src/webhooks/raw-delivery.js';
import { runHere } from '../cli/fake-process.js';
import { type WorkerEnv, workerEnv } from '../support/accounts.js';
import { portOf } from '../support/delivery/deliveries.js';
import { type Place, useOrderStack } from '../support/order/stack.js';
import { patient } from '../support/patience.js';

const newKeys = (): string => `w1:${randomBytes(32).toString('base64url')}`;
const account = toAccountName('business');
const statusChanged = { account, eventType: 'status_changed' } as const;

/** An ingress that takes deliveries. */
const ingress = createServer((request, response) =>
  response.writeHead(request.url === '/readyz' ? 200 : 404).end('ready\n'),
);
const shared: WorkerEnv = { FARETRAIL_SEALING_KEYS: newKeys(), FARETRAIL_WEBHOOK_KEYS: newKeys() };
const stack = useOrderStack({ env: { ...shared, FARETRAIL_PUBLIC_URL: 'https://other.example' } });
let env: WorkerEnv;
let publicUrl: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => ingress.listen(0, '127.0.0.1', resolve));
  publicUrl = `http://127.0.0.1:${(ingress.address() as AddressInfo).port}`;
  const here = { FARETRAIL_TASK_QUEUE: stack.config.taskQueue, FARETRAIL_PUBLIC_URL: publicUrl };
  env = { ...workerEnv(stack.sandbox.url, { ...shared, ...here }), TEMPORAL_ADDRESS: inject('temporalAddress') };
  await vi.waitFor(async () => expect(await callPollers()).not.toEqual([]), patient); // the commands warn where none polls
});
afterAll(() => void ingress.close());

/** What polls the queue of calls to the account. */
async function callPollers() {
  const { workflowService } = stack.client.connection;
  const taskQueue = { name: `${stack.config.taskQueue}.${account}` };
  return (await workflowService.describeTaskQueue({ namespace: 'default', taskQueue, taskQueueType: 2 })).pollers;
}

/** All that was printed, and all secrets that the service has issued so far. */
const said: string[] = [];
const issued: string[] = [];
async function run(argv: string[], more: WorkerEnv = {}) {
  const ended = await runHere([...argv, '--json'], { ...env, ...more });
  said.push(ended.stdout, ended.stderr);
  issued.push(...stack.sandbox.subscribers().map(({ secretId }) => secretId));
  const text = ended.stdout || ended.stderr;
  return { exitCode: ended.exitCode, json: JSON.parse(text) as Record<string, unknown> };
}

const key = ['business', 'status_changed'];

describe('the commands of subscriptions', () => {
  it('subscribe once, however often the command is given, and show the state', async () => {
    const first = await run(['subscription', 'create', ...key]);
    expect(first).toMatchObject({
      exitCode: 0,
      json: {
        workflowId: subscriptionId(statusChanged),
        state: 'started',
        subscription: { state: 'active', publicUrl, generations: [{ state: 'current' }] },
        warnings: [],
      },
    });
    expect(await run(['subscription', 'create', ...key])).toMatchObject({
      exitCode: 0,
      json: { state: 'alreadySubscribed' },
    });
    const elsewhere = await run(['subscription', 'create', ...key, '--public-url', 'https://other.example']);
    expect(elsewhere).toMatchObject({ exitCode: 1, json: { subscription: { publicUrl } } });
    expect(JSON.stringify(elsewhere.json.warnings)).toContain('subscription move business status_changed --public-url');
  });

  it('rotate, move, list and end a subscription', async () => {
    const rotated = await run(['subscription', 'rotate', ...key, '--grace', '30m']);
    const states = [{ state: 'current' }, { state: 'replaced' }];
    expect(rotated).toMatchObject({ exitCode: 0, json: { subscription: { generations: states } } });
    const move = () => run(['subscription', 'move', ...key, '--public-url', 'https://other.example', '--grace', '0']);
    let moved = await move();
    // A busy machine may take longer than the command waits. The run goes on with the first request.
    while ((moved.json.error as { code?: string } | undefined)?.code === 'NoAnswer') moved = await move();
    expect(moved).toMatchObject({
      exitCode: 0,
      json: { subscription: { publicUrl: 'https://other.example', generations: [{ state: 'current' }] } },
    });
    const listed = async () => (await run(['subscription', 'list', '--account', 'business'])).json.subscriptions;
    const one = { ...statusChanged, state: 'active', accepted: 1, attention: null };
    await expect.poll(listed).toMatchObject([{ ...one, subscriberId: expect.any(String) }]);
    const ended = await run(['subscription', 'end', ...key, '--reason', 'moved away']);
    expect(ended).toMatchObject({ exitCode: 0, json: { end: { reason: 'moved away' } } });
    await expect.poll(listed).toEqual([]);
  });

  it('send nothing while no worker can carry it out, and say so', async () => {
    const queue = { FARETRAIL_TASK_QUEUE: `q-${randomUUID()}` };
    const other = { account: toAccountName('elsewhere'), eventType: 'business_report' } as const;
    const created = ['subscription', 'create', 'elsewhere', 'business_report', '--unknown-account'];
    const started = await run(created, queue);
    expect(started).toMatchObject({ exitCode: 1, json: { state: 'started', subscription: null } });
    expect(JSON.stringify(started.json.warnings)).toContain('no worker polls');
    const rotated = await run(['subscription', 'rotate', 'elsewhere', 'business_report'], queue);
    expect(rotated).toMatchObject({ exitCode: 1, json: { error: { code: 'NoWorker' } } });
    await stack.client.workflow.getHandle(subscriptionId(other)).terminate();
  });
});

describe('the commands of parked deliveries', () => {
  const secret = randomUUID();
  const body = JSON.stringify({ event_type: 'status_changed', note: 'no order here', my_secret_id: secret });

  async function park(place: Place = stack): Promise<string> {
    const deliveryId = randomBytes(16).toString('hex');
    const keys = parseKeyRing(env.FARETRAIL_WEBHOOK_KEYS ?? '');
    if (!('ring' in keys)) throw new Error('the keys are unreadable');
    const content = { rawBody: Buffer.from(body), headers: { 'content-type': 'application/json' } };
    const sealed = await sealContent(createSealer(keys.ring), { account, deliveryId }, content);
    const receivedAt = new Date().toISOString();
    const delivery: ParkedDeliveryInput = { ...statusChanged, deliveryId, receivedAt, reason: 'noOrderId', sealed };
    await portOf(place).park(delivery);
    return deliveryId;
  }

  const parkedIds = async () =>
    ((await run(['delivery', 'parked'])).json.deliveries as { deliveryId: string; reason?: string }[])
      .filter(({ reason }) => reason === 'noOrderId')
      .map(({ deliveryId }) => deliveryId);

  it('list a delivery, open it without its secret, and give it to an order, which is read', async () => {
    const deliveryId = await park();
    await expect.poll(parkedIds).toContain(deliveryId);
    const opened = await run(['delivery', 'parked', '--open', deliveryId]);
    expect(opened).toMatchObject({ exitCode: 0, json: { account, delivery: { outcome: 'waiting' } } });
    expect(opened.json.shape).toEqual(expect.arrayContaining(['(body): object', '/note: text']));
    expect(JSON.parse(String(opened.json.body))).toMatchObject({ note: 'no order here', my_secret_id: '[secret]' });
    const orderId = stack.newOrder('business', [['Completed', 0]]);
    const routed = await run(['delivery', 'route', 'business', deliveryId, '--order', orderId]);
    expect(routed).toMatchObject({
      exitCode: 0,
      json: { state: 'done', delivery: { handedOver: 'started', orderId } },
    });
    const trail = await stack.client.workflow.getHandle(followOrderId({ account, orderId: orderId as never })).result();
    expect(trail).toMatchObject({ outcome: 'completed', deliveries: { received: 1 } });
    await expect.poll(parkedIds).not.toContain(deliveryId);
    expect(await run(['delivery', 'route', 'business', deliveryId, '--order', orderId])).toMatchObject({
      exitCode: 0,
      json: { state: 'alreadyDecided' },
    });
    expect((await run(['delivery', 'discard', 'business', deliveryId, '--reason', 'late'])).exitCode).toBe(1);
  });

  it('discard a delivery with a reason', async () => {
    const deliveryId = await park();
    const discarded = await run(['delivery', 'discard', 'business', deliveryId, '--reason', 'a test']);
    expect(discarded).toMatchObject({ exitCode: 0, json: { delivery: { outcome: 'discarded' } } });
    const result = await stack.client.workflow.getHandle(parkedDeliveryId({ account, deliveryId })).result();
    expect(result).toMatchObject({ outcome: 'discarded', discardReason: 'a test' });
  });

  it('open a delivery that went through Temporal encrypted', async () => {
    const FARETRAIL_PAYLOAD_KEYS = newKeys();
    const env = { FARETRAIL_PAYLOAD_KEYS, FARETRAIL_ENCRYPT_PAYLOADS: 'true' };
    const { dataConverter } = loadTemporalSettings(env); // as the ingress writes
    const client = new Client({ connection: stack.client.connection, dataConverter });
    const deliveryId = await park({ client, config: { taskQueue: `q-${randomUUID()}` } }); // no worker decides there
    const opened = await run(['delivery', 'parked', '--open', deliveryId], { FARETRAIL_PAYLOAD_KEYS });
    expect(opened).toMatchObject({ exitCode: 0, json: { body: expect.stringContaining('no order here') } });
    const without = await run(['delivery', 'parked', '--open', deliveryId]);
    expect(without).toMatchObject({ exitCode: 1, json: { error: { code: 'PayloadKeyMissing' } } });
    await client.workflow.getHandle(parkedDeliveryId({ account, deliveryId })).terminate();
  });

  it('need the keys of the ingress to open a delivery, and say so', async () => {
    const deliveryId = await park();
    const wrong = await run(['delivery', 'parked', '--open', deliveryId], { FARETRAIL_WEBHOOK_KEYS: newKeys() });
    expect(wrong).toMatchObject({ exitCode: 1, json: { error: { code: 'ContentUnreadable' } } });
    expect(await run(['delivery', 'parked', '--open', deliveryId], { FARETRAIL_WEBHOOK_KEYS: '' })).toMatchObject({
      exitCode: 2,
    });
    await stack.client.workflow.getHandle(parkedDeliveryId({ account, deliveryId })).terminate();
  });

  it('never print a secret', () => {
    expect(issued.length).toBeGreaterThan(2);
    const ofService = Object.fromEntries(issued.map((one, index) => [`secret ${index}`, one]));
    const secrets = { ...ofService, secret, keys: env.FARETRAIL_WEBHOOK_KEYS?.split(':')[1] ?? '' };
    expect(findLeaks(secrets, { said: Buffer.from(said.join('\n')) })).toEqual([]);
    expect(said.join('\n')).not.toMatch(/\/webhooks\//);
  });
});

const unknown = 'f'.repeat(32);
it.each([
  ['subscription rotate business business_report', 'NotSubscribed'],
  ['subscription move business business_report --public-url https://other.example', 'NotSubscribed'],
  ['subscription end business business_report', 'NotSubscribed'],
  [`delivery parked --open ${unknown}`, 'NotParked'],
  [`delivery route business ${unknown} --order 1`, 'NotParked'],
  [`delivery discard business ${unknown} --reason x`, 'NotParked'],
])('%s ends with 3, since Temporal knows no such run: %s', async (command, code) => {
  expect(await run(command.split(' '))).toMatchObject({ exitCode: 3, json: { error: { code } } });
});

it('the doctor asks the ingress whether it is ready', async () => {
  const { checks } = (await run(['doctor'])).json as { checks: { name: string }[] };
  expect(checks.filter(({ name }) => name === 'ingress')).toMatchObject([{ result: 'ok' }]);
});
