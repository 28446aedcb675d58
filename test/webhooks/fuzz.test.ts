import fc from 'fast-check';
import { Pool } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testSeed } from '../setup/seed.js';
import { isLong } from '../support/long.js';
import { type IngressStand, startIngressStand } from './ingress-stand.js';
import { openRaw } from './raw-sender.js';

const limit = 32 * 1024;

/** Changes one place of a text. */
const altered = (text: string): fc.Arbitrary<string> =>
  fc
    .record({ at: fc.nat(text.length), drop: fc.nat(3), add: fc.string({ maxLength: 5 }) })
    .map(({ at, drop, add }) => text.slice(0, at) + add + text.slice(at + drop));

/** Paths as HTTP can carry them: visible ASCII. */
const sendable = (path: string): string => `/${path.replace(/^\//, '').replace(/[^\x21-\x7e]/g, '%C3%28')}`;

const pathsAround = (good: string) =>
  fc.oneof(
    { weight: 15, arbitrary: fc.constant(good) },
    { weight: 2, arbitrary: altered(good).map(sendable) },
    { weight: 1, arbitrary: fc.webPath().map(sendable) },
    { weight: 1, arbitrary: fc.string({ maxLength: 300 }).map(sendable) },
    { weight: 1, arbitrary: fc.constantFrom(`${good}?a=%`, `${good}/..`, `/${good}`, '/%', '/webhooks/%2e%2e/a/b') },
  );

const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>('4711', 4711, -0, 2 ** 60, 'a/b', '..', 'test', 'status_changed', '\u0000', ''),
);
const order = fc.record({ id: value, order_id: value, status: value, business_id: value }, { requiredKeys: [] });
const delivery = fc.record(
  { order_id: value, order, data: fc.oneof(order, value), event_type: value, business_id: value, status: value },
  { requiredKeys: [] },
);
const json = fc.oneof(
  delivery.map((body) => JSON.stringify(body)),
  fc.json(),
  fc.constantFrom(
    '{"__proto__":{"order_id":1},"constructor":{"prototype":{"x":1}},"order_id":"1"}',
    `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    `{"order_id":${'9'.repeat(5_000)}}`,
    '{"order_id":"\\ud800"}',
  ),
);
const body = fc.oneof(
  { weight: 60, arbitrary: json.map((text) => Buffer.from(text)) },
  { weight: 20, arbitrary: json.chain(altered).map((text) => Buffer.from(text)) },
  { weight: 20, arbitrary: fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)) },
  // Few, since each one costs what thousands of small ones do.
  { weight: 1, arbitrary: fc.constantFrom(limit, limit + 1, 2 * limit).map((size) => Buffer.alloc(size, 0x7b)) },
);

const headerNames = ['content-type', 'accept', 'x-secret', 'user-agent', 'cookie', 'x-http-method-override', 'origin'];
const headerValue = fc.oneof(
  fc.constantFrom('application/json', 'text/plain; charset=utf-16', ';;', '*/*', 'x'.repeat(2_000), ''),
  fc.string({ maxLength: 60 }).map((text) => text.replace(/[^\x20-\x7e]/g, '~')),
);
const headers: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 20, arbitrary: fc.dictionary(fc.constantFrom(...headerNames), headerValue, { maxKeys: 6 }) },
  { weight: 1, arbitrary: fc.record({ 'content-encoding': fc.constantFrom('gzip', 'identity', 'x', 'zstd') }) },
);

/** Requests around a good address, each readable as HTTP. */
const fuzzedRequests = (good: string) => {
  const method = fc.constantFrom('POST', 'POST', 'POST', 'POST', 'POST', 'PUT', 'GET', 'DELETE');
  return fc.record({ method, path: pathsAround(good), headers, body });
};

/** Texts on the wire that need not be HTTP at all. */
const fuzzedBytes = (good: string) => {
  const requests = [
    `POST ${good} HTTP/1.1\r\nHost: x\r\nContent-Length: 16\r\n\r\n{"order_id":"1"}`,
    `POST ${good} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
  ];
  return fc.oneof(
    ...requests.map((text) => altered(text).map((one) => Buffer.from(one))),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.constant(Buffer.from(`GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`)),
  );
};

const requests = isLong ? 100_000 : 3_000;
const rawTexts = isLong ? 5_000 : 200;
const batch = 500;
const growthLimitBytes = 250 * 1024 * 1024;

const seed = testSeed();
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

type FuzzedRequest = ReturnType<typeof fuzzedRequests> extends fc.Arbitrary<infer R> ? R : never;

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

it(`the ingress answers ${requests} strange requests without a fault of its own, and memory stays bounded`, async () => {
  const seen = new Set<number>();
  let rssBefore = 0;
  for (const some of samples(fuzzedRequests(goodPath()), requests)) {
    const statuses = await Promise.all(some.map(send));
    for (const status of statuses) seen.add(status);
    stand.store.deliveries.length = 0;
    stand.facts.length = 0;
    if (rssBefore === 0) rssBefore = process.memoryUsage().rss;
  }
  const growth = process.memoryUsage().rss - rssBefore;
  if (isLong) console.log('seed', seed, 'growth in MB', Math.round(growth / 2 ** 20));
  expectNoFault([...seen]);
  expect([...seen]).toEqual(expect.arrayContaining([202, 400, 404, 413, 415]));
  expect(growth).toBeLessThan(growthLimitBytes);
}, 1_200_000);

it(`the ingress survives ${rawTexts} texts that need not be HTTP`, async () => {
  for (const some of samples(fuzzedBytes(goodPath()), rawTexts)) {
    for (let from = 0; from < some.length; from += 50)
      expectNoFault((await Promise.all(some.slice(from, from + 50).map(sendBytes))).flat());
  }
  expect(await stand.post('{"order_id":"1"}')).toMatchObject({ status: 202 });
}, 1_200_000);
