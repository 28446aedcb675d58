import { request } from 'node:http';
import { connect } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { openTally, type Tale, type Task, tryAll } from '../tally.js';

/** What somebody knows who has seen one webhook address, and a few orders of their own. */
export interface KnowsAddress extends Task {
  url: string;
  orderIds: readonly string[];
}

/** One request, or bytes that are none. */
type Knock =
  | { kind: 'post'; body: Buffer; headers: Record<string, string>; path: string; method: string }
  | { kind: 'raw'; bytes: string; pauseMs: number };

const words = ['Driving', 'Completed', 'Cancelled', 'Rejected', 'Waiting', 'Nonsense', 'x'.repeat(100), '\u202e\u0000'];

/** Bodies as the service sends them, and as nobody does. */
function bodies(orderIds: readonly string[]): fc.Arbitrary<Buffer> {
  const orderId = fc.oneof(fc.constantFrom(...orderIds), fc.uuid(), fc.integer().map(String), fc.string());
  const event = fc.record(
    {
      event_type: fc.constantFrom('status_changed', 'business_report', 'other'),
      order_id: orderId,
      status: fc.constantFrom(...words),
      event_id: fc.uuid(),
    },
    { requiredKeys: [] },
  );
  const published = event.map((inner) => ({ ...inner, message: JSON.stringify(inner) }));
  const wrapped = event.map((inner) => ({ data: Buffer.from(JSON.stringify({ message: inner })).toString('base64') }));
  const sized = (fill: (bytes: number) => string): fc.Arbitrary<string> =>
    fc.constantFrom(1_000, 16_000, 32_000, 64_000, 262_144, 1_000_000).map(fill);
  const texts = fc.oneof(
    { weight: 6, arbitrary: fc.oneof(event, published, wrapped).map((one) => JSON.stringify(one)) },
    { weight: 2, arbitrary: fc.array(event, { maxLength: 300 }).map((many) => JSON.stringify(many)) },
    { weight: 2, arbitrary: sized((bytes) => `[${'1,'.repeat(bytes / 2 - 2)}1]`) },
    sized((bytes) => `[${'1.7976931348623157e308,'.repeat(bytes / 23)}1]`),
    sized((bytes) => `{"status":"${'\\u0041'.repeat(bytes / 6)}"}`),
    sized((bytes) => '['.repeat(bytes / 2) + ']'.repeat(bytes / 2)),
    sized((bytes) => `{${Array.from({ length: bytes / 12 }, (_, i) => `"k${i}":{}`).join(',')}}`),
    sized((bytes) => `{"message":${JSON.stringify(JSON.stringify('\\'.repeat(bytes / 8)))}}`),
    fc.json(),
    fc.string(),
  );
  return fc.oneof(
    { weight: 9, arbitrary: texts.map((text) => Buffer.from(text)) },
    fc.uint8Array({ maxLength: 4_000 }).map((bytes) => Buffer.from(bytes)),
  );
}

const encodings = {
  gzip: gzipSync,
  br: brotliCompressSync,
  identity: (body: Buffer) => body,
  'utf-8': (body: Buffer) => body,
};

function posts(orderIds: readonly string[]): fc.Arbitrary<Knock> {
  const encoded = fc
    .tuple(
      bodies(orderIds),
      fc.constantFrom(...(Object.keys(encodings) as (keyof typeof encodings)[])),
      fc.integer({ max: 9 }),
    )
    .map(([body, encoding, chance]) =>
      chance < 0 || encoding === 'identity'
        ? { body, headers: {} }
        : { body: encodings[encoding](body), headers: { 'content-encoding': encoding } },
    );
  const headers = fc.record(
    {
      'content-type': fc.constantFrom('application/json', 'text/plain', 'application/cloudevents+json', 'x', ''),
      'x-signature': fc.constantFrom('0', 'a', 'f').map((digit) => digit.repeat(64)),
      authorization: fc.constantFrom('Bearer x', 'Basic eDp4'),
      'x-forwarded-for': fc.ipV4(),
      expect: fc.constant('100-continue'),
    },
    { requiredKeys: [] },
  );
  const path = fc.oneof(
    { weight: 20, arbitrary: fc.constant('') },
    fc.constantFrom('/', '/../..', '?x=1', '%00', '/extra'),
  );
  const method = fc.oneof(
    { weight: 20, arbitrary: fc.constant('POST') },
    fc.constantFrom('GET', 'PUT', 'OPTIONS', 'TRACE'),
  );
  return fc.record({ encoded, headers, path, method }).map((one) => ({
    kind: 'post',
    path: one.path,
    method: one.method,
    body: one.encoded.body,
    headers: { ...one.headers, ...one.encoded.headers },
  }));
}

const raws = (path: string): fc.Arbitrary<Knock> =>
  fc
    .record({
      bytes: fc.constantFrom(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{`,
        `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n{`,
        `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n`,
        `POST ${path} HTTP/1.1\r\n${'X: y\r\n'.repeat(5_000)}`,
        `POST ${path.repeat(500)} HTTP/1.1\r\n\r\n`,
        'nonsense\r\n\r\n',
      ),
      pauseMs: fc.constantFrom(0, 2_000, 10_000),
    })
    .map((one) => ({ kind: 'raw', ...one }));

/** Tries for its time whatever one address allows. */
export async function knockAtIngress({ url, orderIds, ...task }: KnowsAddress): Promise<Tale> {
  const { tale, hear, make } = openTally();
  const { pathname, hostname, port } = new URL(url);
  const grammar = fc.oneof({ weight: 30, arbitrary: posts(orderIds) }, raws(pathname));
  await tryAll(task, { grammar, lanes: 24, perSecond: 250 }, (knock) =>
    make(() =>
      knock.kind === 'post' ? post(url, knock, hear) : sendRaw({ host: hostname, port: Number(port) }, knock, hear),
    ),
  );
  return tale;
}

/** By Node's own client, since `fetch` refuses some of these. */
function post(url: string, knock: Knock & { kind: 'post' }, hear: (text: string) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port, pathname } = new URL(url);
    const options = {
      hostname,
      port,
      path: encodeURI(pathname + knock.path),
      method: knock.method,
      headers: knock.headers,
    };
    const sent = request(options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      answer.on('end', () => {
        hear(text);
        resolve(String(answer.statusCode));
      });
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(knock.body);
  });
}

function sendRaw(to: { host: string; port: number }, knock: Knock & { kind: 'raw' }, hear: (text: string) => void) {
  return new Promise<string>((resolve) => {
    const socket = connect(to, () => socket.write(knock.bytes));
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      hear(text);
      resolve(`raw ${/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 'closed'}`);
    });
    setTimeout(() => socket.destroy(), knock.pauseMs + 200);
  });
}
