import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { expect, it, onTestFinished } from 'vitest';
import {
  AddressNotAllowed,
  createGuardedAgent,
  createNotifySender,
  defaultNotifyLimits,
  isCallableAddress,
  type NotifySenderOptions,
  receiverSecret,
  toWebhookSecret,
} from '../../src/notify-http/sender.js';
import { serve, serveBytes, textOf } from '../ride-api/loopback-server.js';

const secrets = [Buffer.alloc(32, 1), Buffer.alloc(24, 251)];
const event = { type: 'order.changed', orderId: '42', rawStatus: 'Fährt – "schnell"' };
const id = 'msg_1';
const port = (base: string): string => new URL(base).port;

function senderTo(base: string, more: Partial<NotifySenderOptions> = {}) {
  const sender = createNotifySender({ origins: [new URL(base).origin], secrets, allowsPrivate: true, ...more });
  onTestFinished(() => sender.close());
  return (path = '/') => sender.send({ url: `${base}${path}`, id, event, at: Date.now() });
}

async function serveAndKeep(listener: RequestListener = (_, response) => void response.writeHead(204).end()) {
  const kept: { url?: string | undefined; headers: IncomingHttpHeaders; body: string }[] = [];
  const base = await serve(async (request, response) => {
    kept.push({ url: request.url, headers: request.headers, body: await textOf(request) });
    listener(request, response);
  });
  return { base, kept };
}

const verifierAt = (origin: string, secret: Uint8Array) => new Webhook(toWebhookSecret(receiverSecret(secret, origin)));

it('a notice is signed so that its receiver can verify it with any of its secrets, and no other receiver can', async () => {
  const { base, kept } = await serveAndKeep();
  expect(await senderTo(base)('/hook?shop=9')).toEqual({ kind: 'answered', status: 204, retryAfter: undefined });
  const [{ url, headers, body } = { url: '', headers: {}, body: '' }] = kept;
  expect(url).toBe('/hook?shop=9');
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': id });
  const given = headers as Record<string, string>;
  for (const secret of secrets) {
    const verifier = verifierAt(new URL(base).origin, secret);
    expect(verifier.verify(body, given)).toEqual(event);
    expect(() => verifier.verify(`${body} `, given)).toThrow();
    const others = [verifierAt('http://127.0.0.1:9', secret), new Webhook(secret, { format: 'raw' })];
    for (const other of others) expect(() => other.verify(body, given)).toThrow();
  }
});

it('the sender follows no redirect', async () => {
  const elsewhere = await serveAndKeep();
  const { base } = await serveAndKeep((_, response) => {
    response.writeHead(307, { location: `${elsewhere.base}/stolen` }).end();
  });
  expect(await senderTo(base)()).toMatchObject({ kind: 'answered', status: 307 });
  expect(elsewhere.kept).toEqual([]);
});

it('a notice is answered whatever the body is, and the outcome holds the wait that the receiver asks for', async () => {
  const { base } = await serveAndKeep((_, response) => {
    response.writeHead(503, { 'retry-after': '7' });
    const more = (error?: Error | null): void =>
      void (error || response.destroyed || response.write('x'.repeat(65_536), more));
    more();
  });
  expect(await senderTo(base)()).toEqual({ kind: 'answered', status: 503, retryAfter: '7' });
});

it('a notice is given up when no answer comes in time', async () => {
  const { base } = await serveAndKeep(() => undefined);
  expect(await senderTo(base, { limits: { totalMs: 100 } })()).toEqual({ kind: 'unreachable', code: 'TIMEOUT' });
});

it('a notice to a port where nothing listens ends with a code alone', async () => {
  const base = 'http://127.0.0.1:1';
  expect(await senderTo(base)('/secret?key=1')).toEqual({ kind: 'unreachable', code: 'ECONNREFUSED' });
});

it('the sender makes no request while too many are under way to the same origin', async () => {
  const { base, kept } = await serveAndKeep(() => undefined);
  const send = senderTo(base, { limits: { totalMs: 1_000, perOrigin: 2 } });
  const outcomes = await Promise.all([send(), send(), send()]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(['unreachable', 'unreachable', 'busy']);
  expect(kept).toHaveLength(2);
  expect((await send()).kind).toBe('unreachable');
});

it.each(['https://127.0.0.1:PORT', 'http://localhost:PORT', 'http://127.0.0.1'])(
  '%s is not called unless its origin is configured',
  async (other) => {
    const { base, kept } = await serveAndKeep();
    const send = senderTo(other.replace('PORT', port(base)), { origins: [base] });
    expect(await send('/hook')).toEqual({ kind: 'originNotAllowed' });
    expect(kept).toEqual([]);
  },
);

it.each([
  ...['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0x7f.1', '2130706433', '0', '127.1'],
  ...['10.1.2.3', '169.254.169.254', '[fd00::1]', '[64:ff9b::7f00:1]'],
])('%s is not called unless private addresses are allowed', async (host) => {
  const { base, kept } = await serveAndKeep();
  const send = senderTo(`http://${host}:${port(base)}`, { allowsPrivate: false });
  expect(await send()).toEqual({ kind: 'addressNotAllowed' });
  expect(kept).toEqual([]);
});

const resolvesTo = (...answers: string[][]): NotifySenderOptions['lookUp'] => {
  const found = () => (answers.shift() ?? []).map((address) => ({ address, family: 4 }));
  const lookUp = (_host: string, _options: object, callback: (error: null, found: object[]) => void) =>
    callback(null, found());
  return lookUp as unknown as NonNullable<NotifySenderOptions['lookUp']>;
};

it('a name that also resolves to a private address gets no connection unless private addresses are allowed', async () => {
  let connected = 0;
  const host = await serveBytes(() => {
    connected += 1;
  });
  const lookUp = resolvesTo(['127.0.0.1', '8.8.8.8']);
  const send = senderTo(`http://mixed.test:${host.split(':')[1]}`, { allowsPrivate: false, lookUp });
  expect(await send()).toEqual({ kind: 'addressNotAllowed' });
  expect(connected).toBe(0);
});

it('the sender checks the address that it has connected to once more, before it sends anything', async () => {
  const { base, kept } = await serveAndKeep();
  let asked = 0;
  const agent = createGuardedAgent({ allows: () => ++asked === 1 }, defaultNotifyLimits);
  onTestFinished(() => agent.close());
  await expect(agent.request({ origin: base, path: '/', method: 'POST' })).rejects.toThrow(AddressNotAllowed);
  expect(kept).toEqual([]);
});

it('the sender looks a name up once for each connection, so the name cannot change between check and use', async () => {
  const { base, kept } = await serveAndKeep();
  const lookUp = resolvesTo(['127.0.0.1'], ['169.254.169.254']);
  const send = senderTo(`http://changing.test:${port(base)}`, { lookUp });
  expect((await send()).kind).toBe('answered');
  expect(kept).toHaveLength(1);
  const again = senderTo(`http://changing.test:${port(base)}`, { lookUp });
  expect(await again()).toEqual({ kind: 'addressNotAllowed' });
});

const may = (address: string) => [false, true].map((allowsPrivate) => isCallableAddress(address, { allowsPrivate }));

it.each(['8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8'])('a notice may be sent to %s', (address) => {
  expect(may(address)).toEqual([true, true]);
});

const inV4 = ['127.0.0.1', '127.9.9.9', '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1'];
const inV6 = ['::1', 'fd00::1', '::ffff:10.0.0.1', '::ffff:7f00:1'];
it.each([...inV4, ...inV6])('a notice may be sent to %s only where private addresses are allowed', (address) => {
  expect(may(address)).toEqual([false, true]);
});

const cloudCredentials = ['169.254.169.254', 'fd00:ec2::254', 'fd20:ce:0::254', '100.100.100.200'];
const loopbackBehindNat64 = '64:ff9b::7f00:1';
const loopbackBehind6to4 = '2002:7f00:1::';
it.each([
  ...cloudCredentials,
  ...['fe80::1', 'fe80::1%eth0', '0.0.0.0', '::', '255.255.255.255', '224.0.0.1', 'ff02::1'],
  ...['192.0.0.8', '198.18.0.1', '2001:db8::1', loopbackBehindNat64, loopbackBehind6to4, 'nonsense', ''],
])('a notice may never be sent to %j', (address) => {
  expect(may(address)).toEqual([false, false]);
});
