import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, it, onTestFinished } from 'vitest';
import { mostCallsWithin } from '../../dev/sandbox/ledger-questions.js';
import { startDevServer } from '../../dev/stack/temporal/dev-server.js';
import { pollersOf } from '../../src/temporal/watches.js';
import { isLong } from '../support/long.js';
import { startFleet } from '../support/worker/fleet.js';

const requestsPerSecond = 8;
const orders = 24;
const seconds = isLong ? 20 : 11;

/** Other tests have one partition, as our own servers do. This is the number that Temporal sets up by itself. */
const partitions = { 'matching.numTaskqueueReadPartitions': '4', 'matching.numTaskqueueWritePartitions': '4' };

it('with four partitions an account keeps to its budget gets most of it, no order is left out, and the main partition lists all workers', async () => {
  const databaseFile = join(mkdtempSync(join(tmpdir(), 'faretrail-partitions-')), 'temporal.db');
  const program = inject('temporalProgram');
  const server = await startDevServer({ program, databaseFile, dynamicConfig: partitions });
  onTestFinished(() => server.kill());
  const env = { FARETRAIL_POLL_ACTIVE_MS: '1000' }; // three times what the budget allows
  const fleet = await startFleet(2, { address: server.address, requestsPerSecond, env });
  onTestFinished(() => fleet.close());
  await fleet.followOrders(orders, [['Driving', 0]], ['business']);
  const ofCalls = (since?: string) => fleet.sandbox.ledger({ operation: 'orderDetails', ...(since && { since }) });
  const readOrders = (since?: string) => new Set(ofCalls(since).map(({ orderId }) => orderId)).size;
  await expect.poll(() => readOrders()).toBe(orders);

  const queue = `${fleet.place.config.taskQueue}.business`;
  await expect.poll(async () => (await pollersOf(fleet.client, queue)).length).toBe(fleet.workers.length);

  const since = new Date().toISOString();
  await sleep(seconds * 1_000);
  const reads = ofCalls(since);
  const inTenSeconds = mostCallsWithin(10_000, ofCalls());
  console.log(
    `${reads.length / seconds} reads per second of ${requestsPerSecond}, at most ${inTenSeconds} in ten seconds`,
  );
  expect(inTenSeconds).toBeLessThanOrEqual(1.3 * 10 * requestsPerSecond);
  expect(reads.length).toBeGreaterThan(requestsPerSecond * seconds * 0.3); // half of the queue's share; one partition alone hands out a quarter of it
  await expect.poll(() => readOrders(since)).toBe(orders);
});
