import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { findLeaks } from '../../chaos/leaks.js';
import { freePort } from '../../local/temporal/free-port.js';
import { fakeDriver } from '../../sandbox/order-bodies.js';
import { sandboxCredentials } from '../../sandbox/sandbox.js';
import { createTokenActivities } from '../../src/activities/index.js';
import { toAccountName, toScope } from '../../src/domain/keys.js';
import { accessTokenId } from '../../src/domain/workflow-ids.js';
import { createTokenLeases } from '../../src/temporal/token-leases.js';
import { useNotifyReceiver } from '../support/notify/receiver.js';
import { type FollowHandle, startFollowing } from '../support/order/stack.js';
import { tracesOf } from '../support/traces.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';
import { useTemporal } from '../support/worker/runtime.js';

const temporal = useTemporal();
let fleet: Fleet;
let metricsPort: number;
const receiver = useNotifyReceiver();
beforeAll(async () => {
  metricsPort = await freePort();
  fleet = await startFleet(0, {
    sandbox: { partner: { tokenLifetimeSeconds: 5 }, business: { tokenLifetimeSeconds: 5 } },
  });
  Object.assign(fleet.env, receiver.env, { FARETRAIL_LOG_LEVEL: 'trace', FARETRAIL_METRICS_PORT: String(metricsPort) });
  await fleet.addWorker();
}, 60_000);
afterAll(() => fleet.close());

const traces = () => tracesOf(fleet, { databaseFile: inject('temporalDatabaseFile'), metricsPort });

function secrets(): Record<string, string> {
  const { partner, business } = sandboxCredentials;
  const tokens = fleet.sandbox.issuedTokens().map((token, index) => [`token ${index}`, token]);
  return {
    ...Object.fromEntries(tokens),
    partnerSecret: partner.clientSecret,
    businessSecret: business.clientSecret,
    notifySecret: fleet.env.FARETRAIL_NOTIFY_SECRETS?.split(':')[1] ?? '',
    sealingKey: fleet.env.FARETRAIL_SEALING_KEYS?.split(':')[1] ?? '',
    driverName: fakeDriver.name,
    driverPhone: fakeDriver.phone,
  };
}

/** Follows an order that tells a URL which refuses, fails and takes; it has been told of the first status. */
async function followAndTell() {
  const orderId = randomUUID();
  fleet.sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Pending', afterMs: 0 }] });
  receiver.answer('/hook', 400, 500, 204);
  const notify = [{ url: `${receiver.origin}/hook` }];
  const handle = await startFollowing(fleet.place, { account: 'business', orderId, notify });
  await expect.poll(() => receiver.received.length).toBe(1);
  return { handle, goesOnTo: (status: string) => fleet.sandbox.setStatus('business', orderId, status) };
}

/** An account that rests for a minute after a refusal is not waited for: its orders have left what there is to look at. */
async function endOf(handle: FollowHandle): Promise<void> {
  const stop = new AbortController();
  const stopping = sleep(12_000, undefined, stop).then(() =>
    // It may end by itself at the same moment.
    handle.executeUpdate('stopFollowing', { args: [{ reason: 'enough seen' }] }).catch(() => undefined),
  );
  await handle.result();
  stop.abort();
  await stopping.catch(() => undefined);
}

it('no secret, token or personal detail is left in database, histories, logs or metrics after a run with faults', async () => {
  const handles = await fleet.followOrders(20, [
    ['Pending', 0],
    ['Driving', 4_000],
    ['Completed', 14_000],
  ]);
  const telling = await followAndTell();
  // A fault that hit a first token request would let an account rest for a minute, and little would be left to look at.
  const one = expect.toSatisfy((count?: number) => (count ?? 0) >= 1);
  await expect.poll(() => fleet.sandbox.counts().byOperation).toMatchObject({ partnerToken: one, businessToken: one });
  // What makes an account or an order rest for a minute meets the partner interface; the other one goes on.
  const faults = [
    { kind: 'unauthorized', operation: 'orderStatus', times: 1 },
    { kind: 'serverError', times: 5 },
    { kind: 'forbidden', operation: 'orderStatus', times: 2 },
    { kind: 'malformedJson', times: 3 },
    { kind: 'tooManyRequests', times: 2, retryAfterSeconds: 1 },
    { kind: 'dropConnection', times: 3 },
    { kind: 'invalidClient', operation: 'partnerToken', times: 1 },
    { kind: 'redirect', operation: 'orderStatus', times: 2 },
    { kind: 'hugeJson', times: 1 },
  ] as const;
  for (const fault of faults) {
    fleet.sandbox.setFault(fault);
    await sleep(700);
  }
  telling.goesOnTo('Driving');
  fleet.sandbox.revokeTokens();
  await sleep(2_000);
  fleet.sandbox.clearFaults();
  telling.goesOnTo('Completed');
  await Promise.all([...handles, telling.handle].map(endOf));
  const answered = () => receiver.received.slice(0, 3).map(({ status }) => status);
  await expect.poll(answered).toEqual([400, 500, 204]);
  expect(fleet.sandbox.issuedTokens().length).toBeGreaterThan(2);

  const found = await traces();
  expect(Object.keys(found).filter((where) => where.startsWith('token/')).length).toBeGreaterThanOrEqual(2);
  expect(found.metrics?.toString()).toContain('faretrail_upstream_calls_total');
  expect(found.metrics?.toString()).toContain('temporal_');
  expect(found.logs?.toString()).toContain('worker started');
  expect(findLeaks(secrets(), found)).toEqual([]);
}, 240_000);

it('the same search finds a token that is not sealed', async () => {
  const token = `unsealed-${'t0ken'.repeat(12)}`;
  const taskQueue = fleet.env.FARETRAIL_TASK_QUEUE ?? '';
  const key = {
    account: toAccountName('leaky'),
    scope: toScope('order'),
    credentialId: Date.now().toString(16).padStart(16, '0'),
  };
  const obtained = { accessToken: token, lifetimeMs: 60_000, grantedScope: null, requestedAt: Date.now() };
  const activities = createTokenActivities({
    accountWith: () => ({}) as never,
    rideApi: { requestToken: async () => obtained } as never,
    seal: async (accessToken) => accessToken,
    refreshEarlyMs: 1_000,
  });
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  const connection = temporal.native;
  const worker = await Worker.create({ connection, taskQueue: `${taskQueue}-leaky`, activities, workflowBundle });
  const leases = createTokenLeases(fleet.client, `${taskQueue}-leaky`);
  await worker.runUntil(async () => {
    await leases.renew(key, { insteadOf: null, cause: 'due', operation: null, hasServed: false });
    await expect.poll(async () => (await leases.read(key))?.token?.sealed).toBe(token);
  });
  // The file and its log are read one after the other: a page may move from here to there meanwhile.
  await expect.poll(async () => findLeaks({ token }, await traces())).toContain('database: token');
  await fleet.client.workflow.getHandle(accessTokenId(key)).terminate();
}, 60_000);
