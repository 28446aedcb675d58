import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, inject, it } from 'vitest';
import { findLeaks } from '../../dev/faults/chaos/leaks.js';
import { fakeDriver } from '../../dev/sandbox/order/bodies.js';
import { sandboxCredentials } from '../../dev/sandbox/sandbox.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { createFaretrailClient } from '../../src/client/index.js';
import { useNotifyReceiver } from '../support/notify/receiver.js';
import { type FollowHandle, startFollowing } from '../support/order/stack.js';
import { tracesOf } from '../support/traces.js';
import { useFleet } from '../support/worker/fleet.js';

let metricsPort: number;
const receiver = useNotifyReceiver();
const tokens = { tokenLifetimeSeconds: 5 };
const fleet = useFleet(0, { sandbox: { partner: tokens, business: tokens } });
beforeAll(async () => {
  metricsPort = await freePort();
  Object.assign(fleet.env, receiver.env, { FARETRAIL_LOG_LEVEL: 'trace', FARETRAIL_METRICS_PORT: String(metricsPort) });
  await fleet.addWorker();
}, 600_000);

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

/** Follows an order that notifies a URL which refuses, fails and takes; the URL has got the first notice. */
async function followAndTell() {
  const orderId = fleet.newOrder('business', [['Pending', 0]]);
  receiver.answer('/hook', 400, 500, 204);
  const notify = [{ url: `${receiver.origin}/hook` }];
  const handle = await startFollowing(fleet.place, { account: 'business', orderId, notify });
  await expect.poll(() => receiver.received.length).toBe(1);
  return { handle, orderId, goesOnTo: (status: string) => fleet.sandbox.setStatus('business', orderId, status) };
}

/** Reads an order with its driver, and is refused another. */
async function readOnce(orderId: string): Promise<void> {
  const rides = createFaretrailClient({ client: fleet.client, taskQueue: fleet.place.config.taskQueue });
  const read = (about: string) =>
    rides.call({ account: 'business', operation: 'orderDetails', key: about, orderId: about });
  expect(await read(orderId)).toMatchObject({ status: 200 });
  await expect(read(randomUUID())).rejects.toMatchObject({ code: 'OrderNotFound' });
}

/** The orders of an account that rests for a minute after a refusal are stopped: their runs have left enough to search. */
async function endOf(handle: FollowHandle): Promise<void> {
  const hasEnded = handle.result().then(() => true);
  if (await Promise.race([hasEnded, sleep(12_000, false)])) return;
  const stopping = handle.executeUpdate('stopFollowing', { args: [{ reason: 'enough seen' }] });
  await stopping.catch(() => undefined); // it may end by itself at the same moment
  await hasEnded;
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
  await readOnce(telling.orderId);
  telling.goesOnTo('Completed');
  await Promise.all([...handles, telling.handle].map(endOf));
  const answered = () => receiver.received.slice(0, 3).map(({ status }) => status);
  await expect.poll(answered).toEqual([400, 500, 204]);
  expect(fleet.sandbox.issuedTokens().length).toBeGreaterThan(2);

  const found = await tracesOf(fleet, { databaseFile: inject('temporalDatabaseFile'), metricsPort });
  expect(Object.keys(found).filter((where) => where.startsWith('token/')).length).toBeGreaterThanOrEqual(2);
  expect(found.metrics?.toString()).toContain('faretrail_upstream_calls_total');
  expect(found.metrics?.toString()).toContain('temporal_');
  expect(found.logs?.toString()).toContain('worker started');
  // The same search finds what no setting hides.
  const inClear = ['database', 'logs', `order/business/${telling.orderId}`].map((where) => `${where}: order`);
  expect(findLeaks({ order: telling.orderId }, found)).toEqual(expect.arrayContaining(inClear));
  expect(findLeaks(secrets(), found)).toEqual([]);
}, 240_000);
