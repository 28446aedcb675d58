import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest';
import { type DevServer, startDevServer } from '../../dev/stack/temporal/dev-server.js';
import { freePort } from '../../dev/stack/temporal/free-port.js';
import { workerEnv } from '../support/accounts.js';
import { isLong } from '../support/long.js';
import { type FollowHandle, shows, startFollowing } from '../support/order/stack.js';
import { patient } from '../support/patience.js';
import { isWatched } from '../support/runs.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';
import { startWorkerProcess } from '../support/worker/process.js';

/** Longer than Temporal waits for a heartbeat, so that the worker's SDK has given the activity up. */
const awayMs = isLong ? 120_000 : 40_000;

let folder: string;
let server: DevServer;
let fleet: Fleet;

async function startServer(port: number): Promise<DevServer> {
  const databaseFile = join(folder, 'temporal.db');
  return await startDevServer({ program: inject('temporalProgram'), databaseFile, port });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'faretrail-watch-'));
  server = await startServer(await freePort());
  fleet = await startFleet(1, { address: server.address, env: { FARETRAIL_POLL_ACTIVE_MS: '1000' } });
});
afterAll(async () => {
  await fleet?.close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const pollsSince = (since: number) =>
  fleet.sandbox.ledger({ operation: 'orderStatus', since: new Date(since).toISOString() });

it('while Temporal is away the worker polls the orders that it knows, and tells what it found once Temporal is back', {
  timeout: 400_000,
}, async () => {
  const runs = await fleet.followOrders(10, [['Driving', 0]], ['partner']);
  for (const run of runs) await vi.waitFor(async () => expect(await isWatched(run)).toBe(true), patient);
  const port = Number(server.address.split(':')[1]);
  await server.kill();
  await sleep(awayMs);
  const awayAt = Date.now();
  const known = () => new Set(pollsSince(awayAt).map(({ orderId }) => orderId)).size;
  await expect.poll(known, { message: 'of ten orders that are due each second' }).toBe(10);
  const [changed] = runs as [FollowHandle];
  fleet.sandbox.setStatus('partner', changed.workflowId.split('/')[2] ?? '', 'Waiting');
  await sleep(3_000);
  server = await startServer(port);
  await shows(changed, { status: 'Waiting' });

  const orderId = randomUUID();
  fleet.sandbox.addOrder({ interface: 'partner', orderId, script: [{ status: 'Routing', afterMs: 0 }] });
  const late = await startFollowing(fleet.place, { account: 'partner', orderId });
  await shows(late, { status: 'Routing' });
  fleet.sandbox.setStatus('partner', orderId, 'Driving');
  await shows(late, { status: 'Driving' });
  await Promise.all([late, ...runs].map((run) => run.terminate()));
});

it('a worker that is stopped while Temporal does not answer ends soon, as after any stop', async () => {
  const worker = await startWorkerProcess(
    workerEnv(fleet.sandbox.url, { TEMPORAL_ADDRESS: server.address, FARETRAIL_LOG_LEVEL: 'info' }),
  );
  process.kill(server.pid, 'SIGSTOP');
  // Without a limit of ours it takes half a minute.
  const code = await Promise.race([worker.stop(), sleep(25_000, 'not yet')]);
  process.kill(server.pid, 'SIGCONT');
  if (code !== 0) await worker.kill();
  expect(code).toBe(0);
  expect(worker.output()).toContain('all calls under way have ended');
}, 600_000);
