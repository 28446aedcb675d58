import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { temporal } from '@temporalio/proto';
import { beforeAll, expect, it } from 'vitest';
import { tokenRequestsIn } from '../../dev/sandbox/ledger-questions.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import type { RideInterface } from '../../src/domain/account.js';
import { fromFollowOrderId } from '../../src/domain/workflow-ids.js';
import { jsonFile } from '../support/json-file.js';
import { isLong } from '../support/long.js';
import { useFleet } from '../support/worker/fleet.js';
import { startWorkerProcess } from '../support/worker/process.js';

const lifetimeMs = isLong ? 30_000 : 10_000;
const renewals = isLong ? 5 : 2;
/** Half of the workers hold one account each, the others hold both. */
const size = isLong ? { ofEach: 2, ofBoth: 4, orders: 200 } : { ofEach: 1, ofBoth: 2, orders: 100 };
/** A fifth of a short lifetime: renewed this long before its end. */
const aheadMs = lifetimeMs / 5;

const interfaces = ['partner', 'business'] as const;
const tokenLifetimeSeconds = lifetimeMs / 1_000;
const fleet = useFleet(size.ofBoth, {
  sandbox: { partner: { tokenLifetimeSeconds }, business: { tokenLifetimeSeconds } },
  env: { FARETRAIL_POLL_ACTIVE_MS: '3000', FARETRAIL_POLL_RESERVED_MS: '3000' },
});

/** The metrics of a worker that holds this account alone. */
const metricsOf = new Map<RideInterface, () => Promise<string>>();
beforeAll(async () => {
  const { accounts } = JSON.parse(readFileSync(fleet.env.FARETRAIL_ACCOUNTS_FILE ?? '', 'utf8'));
  for (const name of interfaces) {
    const FARETRAIL_ACCOUNTS_FILE = jsonFile({ accounts: { [name]: accounts[name] } });
    for (let worker = 0; worker < size.ofEach; worker += 1) {
      const FARETRAIL_METRICS_PORT = String(await freePort());
      const env = { ...fleet.env, FARETRAIL_ACCOUNTS_FILE, FARETRAIL_METRICS_PORT };
      fleet.workers.push(await startWorkerProcess(env));
      metricsOf.set(name, async () => await (await fetch(`http://127.0.0.1:${FARETRAIL_METRICS_PORT}/metrics`)).text());
    }
  }
});

const tokenRequestCounts = () => tokenRequestsIn(fleet.sandbox.ledger()).map(({ times }) => times.length);

interface Lease {
  account: string | undefined;
  events: readonly Event[];
}
type Event = temporal.api.history.v1.IHistoryEvent;

async function readLeases(): Promise<Lease[]> {
  const { taskQueue } = fleet.place.config;
  const query = `TaskQueue = '${taskQueue}' AND WorkflowType = 'accessToken'`;
  const leases: Lease[] = [];
  for await (const { workflowId, runId } of fleet.client.workflow.list({ query })) {
    const { events } = await fleet.client.workflow.getHandle(workflowId, runId).fetchHistory();
    leases.push({ account: workflowId.split('/')[1], events: events ?? [] });
  }
  return leases;
}

/** When the leases of an account asked for a request, by the clock of Temporal's server. */
const requestsOf = (leases: readonly Lease[], account: string): number[] =>
  leases
    .flatMap((lease) => (lease.account === account ? lease.events : []))
    .flatMap((event) => (event.activityTaskScheduledEventAttributes ? [timestampToMs(event.eventTime)] : []))
    .toSorted((one, other) => one - other);

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

const timestampToMs = (time: Event['eventTime']): number =>
  Number(time?.seconds ?? 0) * 1_000 + Number(time?.nanos ?? 0) / 1_000_000;

/** No worker without the credentials of an account was asked for its token. */
async function expectOwnTokensAlone(): Promise<void> {
  for (const name of interfaces) {
    const requests = (await metricsOf.get(name)?.())?.match(/^faretrail_token_requests_total\{.*$/gm) ?? [];
    for (const request of requests) expect(request).toContain(`account="${name}"`);
  }
  const { taskQueue } = fleet.place.config;
  for (const { account, events } of await readLeases()) {
    const queues = events.flatMap((event) => event.activityTaskScheduledEventAttributes?.taskQueue?.name ?? []);
    expect(new Set(queues)).toEqual(new Set([`${taskQueue}.${account}`]));
    const attempts = events.flatMap((event) => event.activityTaskStartedEventAttributes?.attempt ?? []);
    expect(new Set(attempts)).toEqual(new Set([1]));
  }
}

it(`worker processes that hold both accounts, or one of them, make one token request per lifetime for ${size.orders} orders, one at the cold start, two after a revocation`, async () => {
  const handles = await fleet.followOrders(size.orders, [['Driving', 0]]);
  const many = expect.toSatisfy((reads: number) => reads >= 100);
  await expect
    .poll(() => fleet.sandbox.counts().byOperation, { timeout: 300_000 })
    .toMatchObject({ orderStatus: many, orderDetails: many });

  const enough = expect.toSatisfy((count: number) => count > renewals);
  await expect.poll(tokenRequestCounts, { timeout: renewals * lifetimeMs + 60_000 }).toEqual([enough, enough]);
  // One that no lease asked for would be too many for good.
  const unasked = async (): Promise<number> => {
    const sent = tokenRequestCounts();
    const leases = await readLeases();
    const asked = interfaces.map((account) => requestsOf(leases, account).length);
    return sum(sent) - sum(asked);
  };
  await expect.poll(unasked).toBe(0);
  const leases = await readLeases();
  for (const account of interfaces) {
    const times = requestsOf(leases, account);
    // A second one at the cold start would come within moments. Estimates of the server's clock are some 100 ms late.
    const distances = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...distances)).toBeGreaterThanOrEqual((lifetimeMs - aheadMs) / 2);
  }
  await expectOwnTokensAlone();

  await sleep(aheadMs); // a token that is rejected at its first use tells of a wrong account, not of a revocation
  const before = tokenRequestCounts();
  fleet.sandbox.revokeTokens();
  const grown = before.map((count) => expect.toSatisfy((after: number) => after > count));
  await expect.poll(tokenRequestCounts).toEqual(grown);
  await sleep(5_000); // for requests that should not be
  tokenRequestCounts().forEach((count, index) => {
    expect(count - (before[index] ?? 0), 'after a revocation').toBeLessThanOrEqual(2);
  });

  for (const { workflowId } of handles) {
    const { account, orderId } = fromFollowOrderId(workflowId) ?? expect.fail(workflowId);
    fleet.sandbox.setStatus(account as RideInterface, orderId, 'Completed'); // accounts are named by their interface
  }
  const trails = await Promise.all(handles.map((handle) => handle.result()));
  expect(new Set(trails.map(({ outcome, attention }) => `${outcome} ${attention}`))).toEqual(
    new Set(['completed null']),
  );
}, 400_000);

it('workers that are told to stop end their calls, then exit with 0', async () => {
  fleet.sandbox.setFault({ kind: 'slow', delayMs: 2_000 });
  const workers = fleet.workers.splice(0);
  const startedAt = new Date().toISOString();
  const handles = await fleet.followOrders(5, [['Completed', 0]], ['partner']);
  const calls = () => fleet.sandbox.ledger({ operation: 'orderStatus', since: startedAt }).length;
  await expect.poll(calls).toBeGreaterThan(0);
  for (const code of await Promise.all(workers.map((worker) => worker.stop()))) expect(code).toBe(0);
  for (const worker of workers) expect(worker.output()).toContain('worker stopped');
  fleet.sandbox.clearFaults();
  await fleet.addWorker(); // takes over what is left to do
  await Promise.all(handles.map((handle) => handle.result()));
}, 600_000);
