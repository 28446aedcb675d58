import fc from 'fast-check';

/** One request that nobody meant well. */
export interface FuzzedRequest {
  method: 'POST' | 'PUT' | 'GET' | 'DELETE';
  path: string;
  headers: Record<string, string>;
  body: Buffer;
}

const limit = 256 * 1024;

/** Changes one place of a text. */
const altered = (text: string): fc.Arbitrary<string> =>
  fc
    .record({ at: fc.nat(text.length), drop: fc.nat(3), add: fc.string({ maxLength: 5 }) })
    .map(({ at, drop, add }) => text.slice(0, at) + add + text.slice(at + drop));

/** Paths as HTTP can carry them: visible ASCII. */
const sendable = (path: string): string => `/${path.replace(/^\//, '').replace(/[^\x21-\x7e]/g, '%C3%28')}`;

const pathsAround = (good: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 15, arbitrary: fc.constant(good) },
    { weight: 2, arbitrary: altered(good).map(sendable) },
    { weight: 1, arbitrary: fc.webPath().map(sendable) },
    { weight: 1, arbitrary: fc.string({ maxLength: 300 }).map(sendable) },
    { weight: 1, arbitrary: fc.constantFrom(`${good}?a=%`, `${good}/..`, `/${good}`, '/%', '/webhooks/%2e%2e/a/b') },
  );

const strange = fc.constantFrom<unknown>(
  '4711',
  4711,
  -0,
  2 ** 60,
  'a/b',
  '..',
  'test',
  'status_changed',
  '\u0000',
  '',
);
const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), strange);
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
    '{"order_id":"1","order_id":{"order_id":[]}}',
    `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
    '{"order":'.repeat(5_000),
    `{"order_id":${'9'.repeat(5_000)}}`,
    `{"order_id":1e${'9'.repeat(50)}}`,
    '{"order_id":"\\ud800"}',
  ),
);
const body = fc.oneof(
  { weight: 6, arbitrary: json.map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: json.chain(altered).map((text) => Buffer.from(text)) },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)) },
);
/** Few, since each one costs what thousands of small ones do. */
const largeBody = fc.constantFrom(limit - 1, limit, limit + 1, 2 * limit).map((size) => Buffer.alloc(size, 0x7b));

const headerName = fc.constantFrom(
  ...['content-type', 'accept', 'accept-version', 'x-secret', 'user-agent', 'cookie', 'x-request-id', 'authorization'],
  ...['x-forwarded-for', 'if-none-match', 'range', 'x-http-method-override', 'prefer', 'origin'],
);
const headerValue = fc.oneof(
  fc.constantFrom('application/json', 'text/plain; charset=utf-16', ';;', '*/*', '1.x', 'x'.repeat(2_000), ''),
  fc.string({ maxLength: 60 }).map((text) => text.replace(/[^\x20-\x7e]/g, '~')),
);
const headers = fc.oneof(
  { weight: 20, arbitrary: fc.dictionary(headerName, headerValue, { maxKeys: 6 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('gzip', 'identity', 'br', 'x').map((coding) => ({ 'content-encoding': coding })),
  },
);

/** Requests around a good address, each readable as HTTP. */
export const fuzzedRequests = (good: string): fc.Arbitrary<FuzzedRequest> =>
  fc.record({
    method: fc.oneof(
      { weight: 15, arbitrary: fc.constant('POST' as const) },
      { weight: 1, arbitrary: fc.constantFrom('PUT' as const, 'GET' as const, 'DELETE' as const) },
    ),
    path: pathsAround(good),
    headers,
    body: fc.oneof({ weight: 200, arbitrary: body }, { weight: 1, arbitrary: largeBody }),
  });

const rawLine = fc.constantFrom(
  ...['Host: x', 'Content-Length: 5', 'Content-Length: -1', 'Content-Length: 99999999999999999999', 'content-length:'],
  ...['Transfer-Encoding: chunked', 'Transfer-Encoding: gzip, chunked', 'Expect: 100-continue', 'Expect: x'],
  ...['Connection: upgrade', 'Upgrade: websocket', 'Connection: close', ' folded', 'no colon', 'X-A: \u0001', ''],
);
const chunks = fc.constantFrom(
  '5\r\nhello\r\n0\r\n\r\n',
  'ffffffffffffffff\r\n',
  'zz\r\n',
  '1;a=b\r\n{\r\n',
  '{"order_id":"1"}',
  '',
);

/** Texts on the wire that need not be HTTP at all. */
export const fuzzedBytes = (good: string): fc.Arbitrary<Buffer> =>
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .record({
          method: fc.constantFrom('POST', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE', 'post', 'PRI'),
          path: fc.oneof(fc.constant(good), altered(good), fc.string()),
          version: fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', ''),
          lines: fc.array(rawLine, { maxLength: 5 }),
          body: chunks,
        })
        .map(({ method, path, version, lines, body: text }) =>
          Buffer.from(`${method} ${path} ${version}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${text}`),
        ),
    },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.constant(Buffer.from(`GET / HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`)) },
  );
