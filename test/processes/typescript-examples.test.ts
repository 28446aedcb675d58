import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { ensureEndpoint } from '../../local/stack/nexus-endpoint.js';
import { type Fleet, startFleet } from '../support/worker/fleet.js';

const built = (name: string) => fileURLToPath(new URL(`../../dist/examples/${name}/main.js`, import.meta.url));

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet(1);
}, 120_000);
afterAll(() => fleet.close(), 60_000);

/** Runs an example as a program of its own, which loads the package by its name. */
async function run(name: string, args: string[], env: Record<string, string> = {}) {
  const { FARETRAIL_TASK_QUEUE = '' } = fleet.env;
  const inherited = { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC' };
  const child = spawn(process.execPath, [built(name), ...args], {
    env: { ...inherited, TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = [collect(child.stdout), collect(child.stderr)];
  const [code] = await once(child, 'close');
  return { code, output: output(), errors: errors() };
}

function collect(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return () => text;
}

function newOrder(): string {
  const orderId = randomUUID();
  const script = ['Routing', 'Driving', 'Completed'].map((status, step) => ({ status, afterMs: step * 2_000 }));
  fleet.sandbox.addOrder({ interface: 'business', orderId, script });
  return orderId;
}

it.concurrent('a service with the typed client follows an order to its end', async () => {
  const orderId = newOrder();
  const first = await run('typescript', ['business', orderId]);
  expect(first).toMatchObject({ code: 0, output: expect.stringMatching(new RegExp(`^${orderId} is `)) });
  expect(first.output).toMatch(/ ended: completed, after (Routing > )?(Driving > )?Completed\n$/);
  const refused = await run('typescript', ['Not A Name', orderId]);
  expect(refused).toMatchObject({ code: 1, errors: expect.stringContaining('InvalidInput: account') });
}, 120_000);

it.concurrent('a checkout is told of changes by signal', async () => {
  const seen = await run('checkout', ['business', newOrder()]);
  expect(seen).toMatchObject({ code: 0, output: expect.stringContaining('to the customer: completed') });
  expect(seen.output).toMatch(/captured 1250 EUR\npaid: true\n$/);
}, 120_000);

it.concurrent('a caller in another namespace follows an order through Nexus', async () => {
  const { FARETRAIL_TASK_QUEUE: taskQueue = '' } = fleet.env;
  const endpoint = `rides-${randomUUID()}`;
  await ensureEndpoint(fleet.client, { name: endpoint, taskQueue });
  const env = { TRIPS_NAMESPACE: `trips-${randomUUID()}`, TRIPS_ENDPOINT: endpoint };
  const seen = await run('nexus-caller', ['business', newOrder()], env);
  expect(seen).toMatchObject({ code: 0, output: expect.stringContaining('"outcome":"completed"') });
}, 120_000);
