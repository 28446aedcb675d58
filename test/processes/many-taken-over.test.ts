import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { countsBetween, countsOf, parseCalls } from '../../dev/bench/server-counts.js';
import { readDistancesMs } from '../../dev/sandbox/ledger-questions.js';
import { type DevServer, startDevServer } from '../../dev/stack/temporal/dev-server.js';
import { toAccountName } from '../../src/domain/keys.js';
import { readWatch } from '../../src/temporal/watches.js';
import { isLong } from '../support/long.js';
import { patient } from '../support/patience.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';

// A process takes the watch of very many orders from another one: what that costs Temporal, and when each is polled.

const account = toAccountName('partner');
const orders = 10_000;
const paceMs = 60_000;
/** Polls may come a tenth later than their pace, and the processes take some seconds to hand over. */
const onTimeMs = 1.1 * paceMs + 5_000;

let server: DevServer;
let fleet: Fleet;

beforeAll(async () => {
  if (!isLong) return;
  const databaseFile = join(mkdtempSync(join(tmpdir(), 'faretrail-server-')), 'temporal.db');
  server = await startDevServer({ program: inject('temporalProgram'), databaseFile, metricsPort: 0 });
  const env = { FARETRAIL_POLL_ACTIVE_MS: String(paceMs) };
  fleet = await startFleet(1, { address: server.address, requestsPerSecond: 300, env });
});

afterAll(async () => {
  await fleet?.close();
  await server?.stop();
});

const callsOfServer = () => countsOf(server.metricsUrl ?? null, parseCalls);
const polls = () => fleet.sandbox.ledger({ operation: 'orderStatus' });
const holdsAll = (pid: number | undefined): Promise<void> =>
  vi.waitFor(
    async () => {
      const watch = await readWatch(fleet.client, fleet.place.config.taskQueue, account);
      expect(Number.parseInt(watch?.worker ?? '0', 10)).toBe(pid);
      expect(watch?.pulse?.orders).toBe(orders);
    },
    { ...patient, timeout: 300_000 },
  );

/** The process with the watch ends. What the server was asked, and how late the first poll of each order came. */
async function takesOver(ends: (first: Fleet['workers'][number]) => Promise<unknown>) {
  const [first = expect.fail('no worker')] = fleet.workers;
  const second = await fleet.addWorker();
  const before = await callsOfServer();
  const endedAt = Date.now();
  await ends(first);
  fleet.workers.splice(0, 1);
  await sleep(1.8 * paceMs); // asks the server nothing meanwhile
  const calls = countsBetween(before, await callsOfServer());
  const asked = Object.fromEntries(
    ['QueryWorkflow', 'DescribeWorkflowExecution', 'ListWorkflowExecutions'].map((name) => [
      name,
      calls.get(name) ?? 0,
    ]),
  );
  await holdsAll(second.pid);
  const around = polls().filter(({ at }) => Date.parse(at) > endedAt - 1.2 * paceMs);
  const ids = [...new Set(around.map(({ orderId }) => orderId ?? ''))];
  const longest = ids.map((orderId) => Math.max(...readDistancesMs(around, orderId))).sort((a, b) => a - b);
  const firstSeconds = around.filter(({ at }) => Date.parse(at) > endedAt && Date.parse(at) <= endedAt + 10_000);
  return { asked, orders: ids.length, lastMs: longest.at(-1) ?? 0, pollsInTenSeconds: firstSeconds.length };
}

it.runIf(isLong)(
  'a process that takes 10,000 orders over asks no run, and polls each when it is due',
  {
    timeout: 1_200_000,
  },
  async () => {
    for (let started = 0; started < orders; started += 500)
      await fleet.followOrders(500, [['Driving', 0]], ['partner']);
    await holdsAll(fleet.workers[0]?.pid);
    await sleep(1.2 * paceMs);

    const stopped = await takesOver((first) => first.stop());
    console.log('SIGTERM:', JSON.stringify(stopped));
    expect(stopped.asked).toMatchObject({ QueryWorkflow: 0 });
    expect(stopped.asked.DescribeWorkflowExecution).toBeLessThanOrEqual(20);
    expect(stopped.lastMs).toBeLessThan(onTimeMs);
    // No round of overdue polls: a sixth of the orders is due in ten seconds.
    expect(stopped.pollsInTenSeconds).toBeLessThan((1.3 * orders) / 6);

    const killed = await takesOver((first) => first.kill());
    console.log('kill -9:', JSON.stringify(killed));
    expect(killed.asked).toMatchObject({ QueryWorkflow: 0 });
    expect(killed.asked.DescribeWorkflowExecution).toBeLessThanOrEqual(20);
  },
);
