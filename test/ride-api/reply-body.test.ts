import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { HttpLimits } from '../../src/ride-api/http.js';
import { failure } from './accounts.js';
import { httpClient, serve, serveBytes } from './loopback-server.js';

const maxReplyBytes = 10_000;

/** Sends to a URL over one connection. */
function client(limits: Partial<HttpLimits> = { maxReplyBytes }) {
  const http = httpClient({ connections: 1, ...limits });
  return (url: string) => http.send({ method: 'POST', url, headers: {}, body: '{}' });
}

async function answered(body: string | Buffer | undefined, coding: string | string[] = [], status = 200) {
  const base = await serve((_, response) => {
    response.writeHead(status, { 'Content-Encoding': coding }).end(body);
  });
  return await client()(base);
}

const garbled = (code: string) =>
  failure('RideApiGarbled', code, { status: 200, message: expect.not.stringContaining('SECRET') });

describe('the body of an answer', () => {
  it('may be empty on a success', async () => {
    expect(await answered(undefined, [], 204)).toMatchObject({ status: 204, body: undefined });
    expect(await answered(' \n')).toMatchObject({ status: 200, body: undefined });
    expect(await answered('', 'gzip')).toMatchObject({ status: 200, body: undefined });
  });

  it('is read where an error has one in JSON', async () => {
    expect(await answered('{"error":"x"}', [], 400)).toMatchObject({ status: 400, body: { error: 'x' } });
  });

  it('may begin with a byte order mark and hold broken characters, which are mended', async () => {
    const bytes = Buffer.concat([Buffer.from('\uFEFF{"a":"\\ud800'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect((await answered(bytes)).body).toEqual({ a: '\uFFFD\uFFFD' });
  });

  it('may have just the size of the cap, and beyond it does not hide the status of an error', async () => {
    expect((await answered(JSON.stringify('x'.repeat(maxReplyBytes - 2)))).body).toHaveLength(maxReplyBytes - 2);
    await expect(answered(JSON.stringify('x'.repeat(maxReplyBytes - 1)))).rejects.toThrow(
      failure('RideApiGarbled', 'TOO_LARGE'),
    );
    expect(await answered('x'.repeat(50_000), [], 503)).toMatchObject({ status: 503, body: undefined });
  });
});

describe('a packed answer', () => {
  const json = JSON.stringify({ status: 'Driving', filler: 'x'.repeat(5_000) });

  it.each([
    ['gzip', gzipSync(json)],
    ['x-gzip', gzipSync(json)],
    ['GZip', gzipSync(json)],
    ['deflate', deflateSync(json)],
    ['deflate', deflateRawSync(json)],
    ['br', brotliCompressSync(json)],
    ['identity', Buffer.from(json)],
    ['', Buffer.from(json)],
    ['deflate, gzip', gzipSync(deflateSync(json))],
    ['identity,, gzip', gzipSync(json)],
    [['br', 'gzip'], gzipSync(brotliCompressSync(json))],
  ])('is read as %j', async (coding, body) => {
    expect((await answered(body, coding)).body).toEqual(JSON.parse(json));
  });

  it.each([
    ['gzip', gzipSync],
    ['br', (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ])('that unpacks to more than the cap is cut off: %s', async (coding, pack) => {
    const bomb = pack(Buffer.alloc(100_000_000, 0x20));
    const packed = bomb.length > maxReplyBytes ? pack(bomb) : bomb;
    const codings = packed === bomb ? coding : `${coding}, ${coding}`;
    const before = process.memoryUsage().arrayBuffers;
    await expect(answered(packed, codings)).rejects.toThrow(garbled('TOO_LARGE'));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
  });
});

describe('an answer that cannot be read', () => {
  const json = Buffer.from('{"SECRET":1}');
  const fiveTimes = [1, 2, 3, 4, 5].reduce((bytes) => gzipSync(bytes), json);

  it.each<[string, string | Buffer, string?]>([
    ['AMBIGUOUS', '{"status":"SECRET","status":"Completed"}'],
    ['AMBIGUOUS', '{"status":"Completed","__proto__":{"SECRET":1}}'],
    ['TOO_DEEP', `{"SECRET":${'['.repeat(2_000)}${']'.repeat(2_000)}}`],
    ['NOT_JSON', '{"SECRET":NaN}'],
    ['NOT_JSON', '<html>SECRET'],
    ['ENCODING', json, 'zstd'],
    ['ENCODING', json, 'constructor'],
    ['ENCODING', json, 'gzip'],
    ['ENCODING', gzipSync(json).subarray(0, 20), 'gzip'],
    ['ENCODING', gzipSync(json), 'br'],
    ['ENCODING', Buffer.from([0x78, 0x9c, 0xff]), 'deflate'],
    ['ENCODING', fiveTimes, 'gzip,gzip,gzip,gzip,gzip'],
  ])('is named %s, and of an error leaves the status to decide (%#)', async (code, body, coding = '') => {
    await expect(answered(body, coding)).rejects.toThrow(garbled(code));
    expect(await answered(body, coding, 409)).toMatchObject({ status: 409, body: undefined });
  });
});

describe('interim answers', () => {
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"ok":1}';
  const interim = (status: number, fields = '') => `HTTP/1.1 ${status} Soon\r\n${fields}\r\n`;

  /** Answers each request on a connection with these pieces, one after the other. */
  async function sent(pieces: string[], pauseMs = 2) {
    const host = await serveBytes((socket) => {
      socket.setNoDelay(true);
      socket.on('data', async () => {
        for (const piece of pieces) {
          socket.write(piece);
          await new Promise((resolve) => setTimeout(resolve, pauseMs));
        }
      });
    });
    return `http://${host}`;
  }

  it.each([
    ['102', [interim(102), final]],
    ['103 with fields', [interim(103, 'Link: </a>\r\n'), final]],
    ['several in one piece', [`${interim(102)}${interim(103, 'Link: </a>\r\n')}${final}`]],
  ])('are passed over, again too on a connection that is kept: %s', async (_, pieces) => {
    const url = await sent(pieces);
    const send = client();
    for (let exchange = 0; exchange < 3; exchange += 1)
      expect(await send(url)).toMatchObject({ status: 200, body: { ok: 1 } });
  });

  it.each([
    ['100, which no request asks for', interim(100)],
    ['101', interim(101, 'Connection: upgrade\r\nUpgrade: h2c\r\n')],
  ])('that break the rules are a lost connection, after which the service may have acted: %s', async (_, piece) => {
    await expect(client()(await sent([piece, final]))).rejects.toThrow(
      failure('RideApiUnreachable', 'CONNECTION_LOST'),
    );
  });

  it('end with the deadline in total', async () => {
    const url = await sent(
      Array.from({ length: 2_000 }, () => interim(102)),
      1,
    );
    await expect(client({ totalMs: 200 })(url)).rejects.toThrow(failure('RideApiUnreachable', 'TOTAL_TIMEOUT'));
  });
});
