import fc from 'fast-check';
import { Pool } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isLong } from '../support/long.js';
import { type FuzzedRequest, fuzzedBytes, fuzzedRequests } from './fuzz-requests.js';
import { type IngressStand, startIngressStand } from './ingress-stand.js';
import { openRaw } from './raw-sender.js';

const requests = isLong ? 100_000 : 3_000;
const rawTexts = isLong ? 5_000 : 200;
const batch = 500;
const growthLimitBytes = 250 * 1024 * 1024;

const seed = Number(process.env.FARETRAIL_TEST_SEED ?? Date.now() % 1_000_000);
let stand: IngressStand;
let pool: Pool;

beforeAll(async () => {
  stand = await startIngressStand({ deadlines: { headersMs: 2_000, requestMs: 4_000, idleMs: 20_000, stopMs: 1_000 } });
  pool = new Pool(stand.url, { connections: 32 });
});
afterAll(async () => {
  await pool.destroy();
  await stand.close();
});

const goodPath = () => new URL(stand.addressOf()).pathname;
/** `count` samples, made in batches so that they need not all be held at once. */
function* samples<T>(arbitrary: fc.Arbitrary<T>, count: number): Generator<T[]> {
  for (let done = 0; done < count; done += batch)
    yield fc.sample(arbitrary, { numRuns: Math.min(batch, count - done), seed: seed + done });
}

async function send({ method, path, headers, body }: FuzzedRequest): Promise<number> {
  const reply = await pool.request({ method, path, headers, ...(method !== 'GET' && { body }) });
  await reply.body.dump();
  return reply.statusCode;
}

/** The status lines that came back; the other side closes sooner or later. */
async function sendBytes(bytes: Buffer): Promise<number[]> {
  const { socket, ended } = await openRaw(stand.url);
  socket.end(bytes);
  return [...(await ended).matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
}

function expectNoFault(statuses: number[]): void {
  const faults = statuses.filter((status) => status >= 500);
  expect({ faults, failures: stand.failures }, `seed ${seed}`).toEqual({ faults: [], failures: [] });
}

it(`answers ${requests} strange requests without a fault of its own, and memory stays bounded`, async () => {
  const counts = new Map<number, number>();
  let rssBefore = 0;
  for (const some of samples(fuzzedRequests(goodPath()), requests)) {
    const statuses = await Promise.all(some.map(send));
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
    stand.store.deliveries.length = 0;
    stand.facts.length = 0;
    if (rssBefore === 0) rssBefore = process.memoryUsage().rss;
  }
  const growth = process.memoryUsage().rss - rssBefore;
  if (isLong) console.log('seed', seed, Object.fromEntries(counts), 'growth in MB', Math.round(growth / 2 ** 20));
  expectNoFault([...counts.keys()]);
  expect([...counts.keys()]).toEqual(expect.arrayContaining([202, 400, 404, 413, 415]));
  expect(growth).toBeLessThan(growthLimitBytes);
}, 1_200_000);

it(`survives ${rawTexts} texts that need not be HTTP`, async () => {
  for (const some of samples(fuzzedBytes(goodPath()), rawTexts)) {
    for (let from = 0; from < some.length; from += 50) {
      expectNoFault((await Promise.all(some.slice(from, from + 50).map(sendBytes))).flat());
    }
  }
  expect(await stand.post('{"order_id":"1"}')).toMatchObject({ status: 202 });
}, 1_200_000);
