import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { type IngressProcess, startIngressProcess } from '../../bench/ingress-process.js';
import { startDevServer } from '../../local/temporal/dev-server.js';
import { freePort } from '../../local/temporal/free-port.js';
import { toAccountName } from '../../src/domain/keys.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { fromFollowOrderId, subscriptionId } from '../../src/domain/workflow-ids.js';
import { subscriptionStatusQuery } from '../../src/workflows/messages.js';
import type { subscription } from '../../src/workflows/subscription/subscription.js';
import { patient } from '../support/patience.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';

const orders = 12;
const script: [status: string, afterMs: number][] = [
  ['Routing', 0],
  ['Confirmed', 1_500],
  ['Driving', 3_000],
  ['Transporting', 4_500],
  ['Completed', 6_000],
];
const statuses = script.map(([status]) => status);
const hour = '3600000';
const paces = {
  slow: { FARETRAIL_POLL_ACTIVE_MS: hour, FARETRAIL_POLL_RESERVED_MS: hour, FARETRAIL_POLL_PUSHED_MS: hour },
  fast: { FARETRAIL_POLL_ACTIVE_MS: '400', FARETRAIL_POLL_PUSHED_MS: '1200' },
};

/** Both processes as they are deployed, and a subscription at the sandbox. */
interface Scene {
  fleet: Fleet;
  ingress: IngressProcess;
  close(): Promise<void>;
}

async function open(pace: keyof typeof paces): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-deliveries-'));
  const port = await freePort();
  const env = {
    ...paces[pace],
    FARETRAIL_WEBHOOK_KEYS: `w1:${randomBytes(32).toString('base64url')}`,
    FARETRAIL_PUBLIC_URL: `http://127.0.0.1:${port}`,
    FARETRAIL_JOURNAL_DIR: join(folder, 'journal'),
  };
  // A server of our own: a subscription is named by account and event type alone, and other tests subscribe too.
  const server = await startDevServer({
    program: inject('temporalProgram'),
    databaseFile: join(folder, 'temporal.db'),
  });
  const fleet = await startFleet(1, { env, address: server.address });
  const ingress = await startIngressProcess('faretrail', fleet.env, port);
  await subscribe(fleet, env.FARETRAIL_PUBLIC_URL);
  return {
    fleet,
    ingress,
    async close() {
      await ingress.stop();
      await fleet.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function subscribe({ client, env }: Fleet, publicUrl: string): Promise<void> {
  const key = { account: toAccountName('business'), eventType: 'status_changed' } as const;
  const handle = await client.workflow.start<typeof subscription>('subscription', {
    workflowId: subscriptionId(key),
    taskQueue: env.FARETRAIL_TASK_QUEUE ?? '',
    args: [{ ...key, publicUrl }],
  });
  const isActive = async () => expect((await handle.query(subscriptionStatusQuery)).state).toBe('active');
  await vi.waitFor(isActive, { timeout: 60_000, interval: 200 });
}

/** Follows orders that go on to their next status once the one before was seen, however long that takes. */
async function followInStep({ fleet }: Scene): Promise<OrderTrail[]> {
  const [first = '', ...others] = statuses;
  const handles = await fleet.followOrders(orders, [[first, 0]], ['business']);
  const ends = handles.map(async (handle) => {
    const orderId = fromFollowOrderId(handle.workflowId)?.orderId ?? expect.fail(handle.workflowId);
    let last = first;
    for (const next of others) {
      await vi.waitFor(async () => expect((await handle.query<OrderTrail>('orderTrail')).status).toBe(last), patient);
      fleet.sandbox.setStatus('business', orderId, next);
      last = next;
    }
    return await handle.result();
  });
  return await Promise.all(ends);
}
const known = (trail: OrderTrail) => [...new Set(trail.timeline.map(({ status }) => status))];

describe.concurrent('with polls an hour apart', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await open('slow');
  });
  afterAll(() => scene.close());

  it.sequential('business orders are followed to their ends by deliveries alone', async () => {
    for (const trail of await followInStep(scene)) {
      expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed' });
      expect(known(trail)).toEqual(statuses);
      // The last one may come after the read that it would have led to.
      expect(trail.deliveries.received).toBeGreaterThanOrEqual(statuses.length - 2);
    }
  });
});

describe.concurrent('with polls at a quick pace', () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await open('fast');
  });
  afterAll(() => scene.close());
  beforeEach(() => scene.fleet.sandbox.clearFaults());

  it.sequential('business orders are followed by polling alone while deliveries are switched off', async () => {
    scene.fleet.sandbox.setDeliverySettings({ enabled: false });
    for (const trail of await followInStep(scene)) {
      expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed', pushed: false });
      expect(known(trail)).toEqual(statuses);
      expect(trail.deliveries.received).toBe(0);
    }
  });

  it.sequential('and by both while deliveries are lost, repeated and late, and the service fails now and then', async () => {
    const { sandbox } = scene.fleet;
    sandbox.setDeliverySettings({ enabled: true, lost: 0.2, duplicated: 0.3, delayUpToMs: 800 });
    sandbox.setFault({ kind: 'serverError', operation: 'orderDetails', probability: 0.1 });
    sandbox.setFault({ kind: 'dropConnection', operation: 'orderDetails', probability: 0.05 });
    const handles = await scene.fleet.followOrders(orders, script, ['business']);
    await sleep(2_000);
    sandbox.revokeTokens();
    for (const trail of await Promise.all(handles.map((handle) => handle.result()))) {
      expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed' });
      expect(statuses).toEqual(expect.arrayContaining(known(trail)));
    }
  });
});
