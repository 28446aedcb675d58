import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
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

async function answered(body: string | Buffer | undefined, coding = '', status = 200) {
  const base = await serve((_, response) => {
    response.writeHead(status, coding === '' ? {} : { 'Content-Encoding': coding }).end(body);
  });
  return await client()(base);
}

const garbled = (code: string) =>
  failure('RideApiGarbled', code, { status: 200, message: expect.not.stringContaining('SECRET') });

describe('the body of an answer', () => {
  it('may be empty on a success', async () => {
    expect(await answered(undefined, '', 204)).toMatchObject({ status: 204, body: undefined });
    expect(await answered(' \n')).toMatchObject({ status: 200, body: undefined });
    expect(await answered('', 'gzip')).toMatchObject({ status: 200, body: undefined });
  });

  it('is read where an error has one in JSON', async () => {
    expect(await answered('{"error":"x"}', '', 400)).toMatchObject({ status: 400, body: { error: 'x' } });
  });

  it('may have just the size of the cap, and beyond it does not hide the status of an error', async () => {
    expect((await answered(JSON.stringify('x'.repeat(maxReplyBytes - 2)))).body).toHaveLength(maxReplyBytes - 2);
    const tooLarge = failure('RideApiGarbled', 'TOO_LARGE');
    await expect(answered(JSON.stringify('x'.repeat(maxReplyBytes - 1)))).rejects.toThrow(tooLarge);
    expect(await answered('x'.repeat(50_000), '', 503)).toMatchObject({ status: 503, body: undefined });
  });
});

describe('a packed answer', () => {
  const json = JSON.stringify({ status: 'Driving', filler: 'x'.repeat(5_000) });

  it.each([
    ['gzip', gzipSync(json)],
    ['x-gzip', gzipSync(json)],
    ['GZip', gzipSync(json)],
    ['deflate', deflateSync(json)],
    ['br', brotliCompressSync(json)],
    ['identity', Buffer.from(json)],
    ['', Buffer.from(json)],
  ])('is read as %j', async (coding, body) => {
    expect((await answered(body, coding)).body).toEqual(JSON.parse(json));
  });

  // Servers confuse the header with the charset, and proxies unpack an answer and leave the header.
  const noCodings = [
    'utf-8',
    'UTF8',
    'utf-16',
    'iso-8859-1',
    'windows-1251',
    'none',
    'null',
    'binary',
    'application/json',
  ];
  it.each([...noCodings, 'identity, utf-8', ',', 'constructor', 'gzip', 'br', 'deflate', 'zstd'])(
    'is read as it is, where the header names %j and nothing is packed',
    async (coding) => {
      expect((await answered(json, coding)).body).toEqual(JSON.parse(json));
      expect((await answered(`\uFEFF${json}`, coding)).body).toEqual(JSON.parse(json));
    },
  );

  it.each([
    ['utf-8, gzip', gzipSync(json)],
    ['gzip;q=1', gzipSync(json)],
    ['identity,gzip', gzipSync(json)],
    ['deflate', deflateRawSync(json)],
  ])('is unpacked, where the header has more in it: %j', async (coding, body) => {
    expect((await answered(body, coding)).body).toEqual(JSON.parse(json));
  });

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ])('that unpacks to more than the cap is cut off: %s', async (coding, pack) => {
    const bomb = pack(Buffer.alloc(8_000_000, 0x20));
    expect(bomb.length).toBeLessThan(maxReplyBytes);
    const before = process.memoryUsage().arrayBuffers;
    await expect(answered(bomb, coding)).rejects.toThrow(garbled('TOO_LARGE'));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4_000_000);
  });
});

describe('an answer that cannot be read', () => {
  const json = Buffer.from('{"SECRET":1}');

  it.each<[string, string | Buffer, string?]>([
    ['AMBIGUOUS', '{"status":"SECRET","status":"Completed"}'],
    ['AMBIGUOUS', '{"status":"Completed","__proto__":{"SECRET":1}}'],
    ['TOO_DEEP', `{"SECRET":${'['.repeat(2_000)}${']'.repeat(2_000)}}`],
    ['NOT_JSON', '{"SECRET":NaN}'],
    ['NOT_JSON', '<html>SECRET'],
    ['ENCODING', gzipSync(json), 'zstd'],
    ['NOT_JSON', gzipSync(json), 'utf-8'],
    ['NOT_JSON', 'SECRET', 'gzip'],
    ['ENCODING', gzipSync(json).subarray(0, 20), 'gzip'],
    ['ENCODING', gzipSync(json), 'br'],
    ['ENCODING', Buffer.from([0x78, 0x9c, 0xff]), 'deflate'],
    ['ENCODING', gzipSync(gzipSync(json)), 'gzip, gzip'],
  ])('is named %s, and of an error leaves the status to decide (%#)', async (code, body, coding = '') => {
    await expect(answered(body, coding)).rejects.toThrow(garbled(code));
    expect(await answered(body, coding, 409)).toMatchObject({ status: 409, body: undefined });
  });
});

describe('headers that describe another body', () => {
  const json = '{"status":"Driving"}';
  const types = [
    'text/plain',
    'text/html; charset=utf-16',
    'application/json; charset=',
    'application/xml',
    'nonsense',
    '',
  ];
  it.each([undefined, ...types])('change nothing: content type %j', async (type) => {
    const base = await serve((_, response) => {
      response.writeHead(200, type === undefined ? {} : { 'Content-Type': type, 'Content-Language': 'x', Vary: '*' });
      response.end(json);
    });
    expect(await client()(base)).toMatchObject({ status: 200, body: JSON.parse(json) });
  });
});

describe('an interim answer', () => {
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"ok":1}';
  const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
  const switching = 'HTTP/1.1 101 Soon\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n';
  const answering = async (text: string) =>
    `http://${await serveBytes((socket) => socket.on('data', () => socket.write(text)))}`;

  it('is passed over, again too on a connection that is kept', async () => {
    const [url, send] = [await answering(hints + final), client()];
    for (let exchange = 0; exchange < 3; exchange += 1)
      expect(await send(url)).toMatchObject({ status: 200, body: { ok: 1 } });
  });

  it('that breaks the rules is a lost connection, after which the service may have acted', async () => {
    const sent = client()(await answering(switching + final));
    await expect(sent).rejects.toThrow(failure('RideApiUnreachable', 'CONNECTION_LOST'));
  });
});
