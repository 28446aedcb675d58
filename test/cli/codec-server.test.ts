import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startCodecServer } from '../../src/cli/codec.js';
import { type CodecSettings, type Env, loadCliConfig, type ReadFile } from '../../src/config.js';
import { createPayloadCodec } from '../../src/sealing/payload-codec.js';
import { encodedKey, problemsOf } from '../settings/env.js';
import { openRaw, sendRaw } from '../webhooks/raw-sender.js';

const token = 'codec-token-of-thirty-two-letters-and-more';
const ui = 'https://temporal.example.com';
const payload = { metadata: { encoding: Buffer.from('json/plain').toString('base64') }, data: 'ImhpIg==' };

async function start(env: Env = {}, keys = `p1:${encodedKey(1)}`, limits?: Parameters<typeof startCodecServer>[1]) {
  const given = { FARETRAIL_CODEC_PORT: '0', FARETRAIL_CODEC_ORIGINS: ui, FARETRAIL_PAYLOAD_KEYS: keys };
  const { payloads, codec: settings } = loadCliConfig({ ...given, ...env });
  const told: string[] = [];
  const options = {
    settings: settings as CodecSettings,
    codec: createPayloadCodec({ ...payloads, encrypts: true }),
    onUnreadable: ({ code }: { code: string }) => told.push(code),
    onFailure: (error: unknown) => told.push(String(error)),
  };
  const server = await startCodecServer(options, limits);
  onTestFinished(() => server.close());
  const ask = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-namespace': 'default', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const payloadsOf = async (path: string, given: unknown[]) =>
    ((await (await ask(path, { payloads: given })).json()) as { payloads: object[] }).payloads;
  return {
    ...{ url: server.url, told, ask },
    encode: (...given: unknown[]) => payloadsOf('/encode', given),
    decode: (...given: unknown[]) => payloadsOf('/decode', given),
  };
}

describe('the codec endpoint', () => {
  it('encrypts and decrypts as the UI and the CLI of Temporal ask for it', async () => {
    const { ask, encode } = await start();
    const encoded = await encode(payload, payload);
    expect(JSON.stringify(encoded)).not.toContain(payload.data);
    expect(encoded).toHaveLength(2);
    const reply = await ask('/decode', { payloads: [encoded[0], payload] });
    expect(reply.headers.get('content-type')).toContain('application/json');
    expect(await reply.json()).toEqual({ payloads: [payload, payload] });
    expect(await (await ask('/decode', {})).json()).toEqual({ payloads: [] });
  });

  it('leaves a payload of another key as it is and says so, and decrypts the rest', async () => {
    const [strange] = await (await start({}, `p9:${encodedKey(9)}`)).encode(payload);
    const { encode, decode, told } = await start();
    const [ours] = await encode(payload);
    expect(await decode(strange, ours)).toEqual([strange, payload]);
    expect(told).toEqual(['PayloadKeyMissing']);
  });

  it.each([{}, { FARETRAIL_CODEC_TOKEN: token }])('lets pages of the UI in and no others, with %j', async (env) => {
    const { ask } = await start(env);
    const headers = { authorization: `Bearer ${token}` };
    const reply = await ask('/decode', { payloads: [] }, { ...headers, origin: ui });
    expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([200, ui]);
    expect(reply.headers.get('vary')).toBe('origin');
    for (const origin of ['https://other.example.com', `${ui}.evil.example`, 'null']) {
      const refusal = await ask('/decode', { payloads: [payload] }, { ...headers, origin });
      expect([refusal.status, refusal.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    }
  });

  it('answers the preflight request of a browser', async () => {
    const { url } = await start({ FARETRAIL_CODEC_TOKEN: token });
    const question = { method: 'POST', headers: 'content-type,x-namespace', 'private-network': 'true' };
    const asked = Object.entries(question).map(([name, value]) => [`access-control-request-${name}`, value]);
    const ask = (origin: string) =>
      fetch(`${url}/decode`, { method: 'OPTIONS', headers: { origin, ...Object.fromEntries(asked) } });
    const { status, headers } = await ask(ui);
    expect(status).toBe(204);
    // The UI shows a person's id token in `authorization-extras` when it passes the access token.
    const allowed = ['headers', 'methods', 'private-network'].map((name) =>
      headers.get(`access-control-allow-${name}`),
    );
    expect(allowed).toEqual(['authorization, authorization-extras, content-type, x-namespace', 'POST', 'true']);
    expect((await ask('https://other.example.com')).status).toBe(403);
  });

  it.each(['', 'Bearer', `Bearer ${token}x`, `Basic ${token}`, token])(
    'refuses %j in place of its token',
    async (shown) => {
      const { ask, url } = await start({ FARETRAIL_CODEC_TOKEN: token });
      const refusal = await ask('/decode', { payloads: [payload] }, { authorization: shown });
      expect([refusal.status, refusal.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect(await refusal.text()).not.toContain(token);
      expect((await ask('/decode', { payloads: [] }, { authorization: `Bearer ${token}` })).status).toBe(200);
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
    },
  );

  const head = 'POST /decode HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  it.each([
    ['headers', head, 'X-A: b\r\n'],
    ['body', `${head}Content-Length: 1000\r\n\r\n`, '{'],
  ])('cuts off a sender whose %s do not end in time', async (_what, first, more) => {
    const { url } = await start({}, undefined, { headersMs: 500, requestMs: 1_000 });
    const { socket, ended } = await openRaw(url);
    onTestFinished(() => void socket.destroy());
    socket.write(first);
    const drip = setInterval(() => socket.write(more), 50);
    expect(await ended.finally(() => clearInterval(drip))).toMatch(/^HTTP\/1.1 408 /);
  });

  it('refuses any other request and repeats nothing of it', async () => {
    const { ask, url, told } = await start();
    const secret = 'Sandy';
    const bodies = [`{"payloads":"${secret}"`, `"${secret}"`, { payloads: [{ data: 5, secret }] }];
    for (const body of bodies) {
      const refusal = await ask('/decode', body);
      expect(refusal.status).toBe(400);
      expect(await refusal.text()).not.toContain(secret);
    }
    expect((await ask('/decode', secret, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await ask('/other', { payloads: [] })).status).toBe(404);
    expect((await fetch(`${url}/decode`)).status).toBe(404);
    // The body itself is not sent.
    expect(await sendRaw(url, `${head}Content-Length: ${17 * 1_048_576}\r\n\r\n`)).toMatch(/^HTTP\/1.1 413 /);
    expect(told).toEqual([]);
  });

  it('does not parse JSON so deep that it would damage the memory of Node 26', async () => {
    const { ask } = await start();
    const parse = vi.spyOn(JSON, 'parse');
    const body = `{"payloads":${'[[],'.repeat(10_000)}1${']'.repeat(10_000)}}`;
    const { status } = await ask('/decode', body);
    expect([status, parse.mock.calls.filter(([text]) => text === body).length]).toEqual([400, 0]);
    parse.mockRestore();
  });

  it('takes a page of big payloads', async () => {
    const { encode, decode } = await start();
    const big = { ...payload, data: Buffer.alloc(700_000, 'a').toString('base64') };
    expect(await decode(...(await encode(big, big, big)))).toEqual([big, big, big]);
  });
});

describe('the settings of the command line', () => {
  const keys = { FARETRAIL_PAYLOAD_KEYS: `p1:${encodedKey(1)}` };
  const problemOf = (env: Env, readFile?: ReadFile) =>
    problemsOf(() => loadCliConfig({ ...keys, ...env }, readFile))[0];

  it.each(['0.0.0.0', '::', 'localhost', '10.0.0.8'])('want a token at %s', (FARETRAIL_CODEC_HOST) => {
    expect(problemOf({ FARETRAIL_CODEC_HOST })).toMatch(/^FARETRAIL_CODEC_TOKEN: missing/);
    expect(loadCliConfig({ ...keys, FARETRAIL_CODEC_HOST, FARETRAIL_CODEC_TOKEN: token }).codec.token).toBe(token);
  });

  it('take the token from a file, and refuse a short one', () => {
    const env = { FARETRAIL_CODEC_TOKEN_FILE: '/run/token' };
    expect(loadCliConfig({ ...keys, ...env }, () => `${token}\n`).codec.token).toBe(token);
    expect(problemOf(env, () => 'short')).toMatch(/^FARETRAIL_CODEC_TOKEN_FILE: .*32 to 512/);
    expect(problemOf({ FARETRAIL_CODEC_TOKEN: 'short' })).toMatch(/32 to 512/);
  });

  const origins = ['*', 'https://a.example/', 'a.example', 'file://x', 'https://a.example,,'];
  it.each(origins)('refuse the origin %j', (FARETRAIL_CODEC_ORIGINS) => {
    expect(problemOf({ FARETRAIL_CODEC_ORIGINS })).toMatch(/^FARETRAIL_CODEC_ORIGINS: entry/);
  });

  it('need a key to encrypt payloads, which no other setting may hold; with the key alone they only read', () => {
    const without = { FARETRAIL_ENCRYPT_PAYLOADS: 'true', FARETRAIL_PAYLOAD_KEYS: undefined };
    expect(problemOf(without)).toMatch(/^FARETRAIL_PAYLOAD_KEYS: missing; make one with/);
    const shared = { FARETRAIL_WEBHOOK_KEYS: `w1:${encodedKey(1)}` };
    expect(problemOf(shared)).toMatch(/^FARETRAIL_PAYLOAD_KEYS: holds a key of FARETRAIL_WEBHOOK/);
    expect(loadCliConfig(keys).payloads.encrypts).toBe(false);
  });
});
