import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parkedDeliveryId } from '../../src/domain/workflow-ids.js';
import { JournalError } from '../../src/webhooks/journal/folder.js';
import { account, aStand, type IngressStand } from './ingress-stand.js';
import { openRaw, sendRaw } from './raw-sender.js';

let stand: IngressStand;
beforeEach(async () => {
  stand = await aStand();
});
afterEach(() => expect(stand.failures).toEqual([]));

const about = (orderId: unknown, more: object = {}) =>
  JSON.stringify({ event_type: 'status_changed', order_id: orderId, status: 'Driving', ...more });
const pathOf = () => new URL(stand.addressOf()).pathname;
/** The head of a request whose body the test writes by itself, or never. */
const head = (field: string, path = pathOf()) => `POST ${path} HTTP/1.1\r\nHost: x\r\n${field}\r\n\r\n`;
/** What a service does that tries an address before it accepts it. */
const look = (address: string, method = 'GET') => stand.post('', { address, method, body: null });
const lastFact = () => stand.facts.at(-1);
const limit = 32 * 1024;
/** JSON of exactly this many bytes. */
const bodyOf = (bytes: number) => {
  const frame = about('1', { pad: '' });
  return frame.replace('"pad":""', `"pad":"${'x'.repeat(bytes - frame.length)}"`);
};

it('a good delivery is stored, then acknowledged with its id', async () => {
  const reply = await stand.post(about('4711'));
  expect(reply).toMatchObject({ status: 202, type: 'application/json; charset=utf-8' });
  // The same in every release. The first half of what sha256sum says of: business/status_changed/<the body>
  const deliveryId = 'dc29033129a9f48a6ef6ab67e2d1b911';
  expect(JSON.parse(reply.text)).toEqual({ deliveryId });
  expect(stand.store.deliveries).toEqual([
    {
      ...{ account, eventType: 'status_changed', orderId: '4711', deliveryId, status: 'Driving' },
      receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    },
  ]);
  expect(lastFact()).toMatchObject({ account, eventType: 'status_changed', outcome: 'accepted' });
});

it.each([undefined, 'application/json', 'text/plain', 'application/x-www-form-urlencoded', 'nonsense', ';;=/'])(
  'a delivery may have any content type: %s',
  async (type) => {
    const header = type === undefined ? '' : `Content-Type: ${type}\r\n`;
    const text = head(`Connection: close\r\n${header}Content-Length: ${about('1').length}`) + about('1');
    expect(await sendRaw(stand.url, text)).toMatch(/^HTTP\/1.1 202 /);
  },
);

it('a delivery may be as large as the limit, and begin with a byte order mark', async () => {
  expect(await stand.post(bodyOf(limit))).toMatchObject({ status: 202 });
  expect(await stand.post(`\uFEFF${about('1')}`)).toMatchObject({ status: 202 });
});

it('a sender that waits with Expect gets 100 Continue only at an address that we made', async () => {
  const fields = `Expect: 100-continue\r\nContent-Length: ${about('1').length}`;
  const good = await openRaw(stand.url);
  good.socket.write(head(fields));
  await expect.poll(() => good.received()).toContain('100 Continue');
  good.socket.write(about('1'));
  await expect.poll(() => good.received()).toContain('202 Accepted');
  good.socket.destroy();
  expect(await sendRaw(stand.url, head(fields, `${pathOf()}x`))).toMatch(/^HTTP\/1.1 404 /);
});

it('a delivery that belongs to no order is acknowledged and kept sealed, with its reason', async () => {
  const body = about(undefined, { note: 'no order here' });
  const headers = { 'user-agent': 'Sender/1', authorization: 'Bearer x', cookie: 'a=b', 'x-other': 'no' };
  const reply = await stand.post(body, { headers });
  expect(reply.status).toBe(202);
  const [kept] = stand.store.deliveries;
  expect(kept).toMatchObject({ orderId: null, parkReason: 'noOrderId', sealed: expect.any(String) });
  expect(JSON.stringify(kept)).not.toContain('no order here');
  const context = parkedDeliveryId({ account, deliveryId: kept?.deliveryId ?? '' });
  const content = JSON.parse(await stand.sealer.unseal(kept?.sealed ?? '', context));
  expect(Buffer.from(content.body, 'base64').toString()).toBe(body);
  expect(content.headers).toEqual({ 'user-agent': 'Sender/1', 'content-type': 'text/plain;charset=UTF-8' });
  expect(lastFact()).toMatchObject({ outcome: 'parked' });
});

it('every address that we did not make, or for an account that is not configured, gets the same answer', async () => {
  await stand.post(about('1')); // a good one that went before helps none of these
  const good = pathOf();
  const [, , , , capability = ''] = good.split('/');
  const [generation, mac] = capability.split('.');
  const altered = `${capability.slice(0, -1)}${capability.endsWith('A') ? 'B' : 'A'}`;
  // The last letter of a mac has two unused bits: the four letters beside each other would read as one mac.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const respelt = [1, 2, 3].map(
    (bits) => capability.slice(0, -1) + alphabet[alphabet.indexOf(capability.at(-1) ?? '') + bits],
  );
  const wrong = [...respelt, altered, `${capability}.x`, `${generation}.`, generation, `g2.${mac}`, 'a'.repeat(5_000)];
  const notConfigured = { account: 'other' as typeof account, eventType: 'status_changed', generation: 'g1' } as const;
  const paths = [
    ...wrong.map((one) => `/webhooks/business/status_changed/${one}`),
    ...['business/business_report', 'business/nonsense', 'nobody/status_changed', '%ff/status_changed'].map(
      (place) => `/webhooks/${place}/${capability}`,
    ),
    ...['/webhooks/business/status_changed', `${good}//`, '/', '/%', stand.paths.pathOf(notConfigured)],
  ];
  const answers = await Promise.all(paths.map((path) => stand.post(about('1'), { address: stand.url + path })));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 404, type: 'application/problem+json; charset=utf-8' });
  for (const method of ['PUT', 'PATCH', 'DELETE'])
    expect(await stand.post('{}', { address: stand.url + good, method })).toEqual(answers[0]);
  for (const path of paths)
    for (const method of ['GET', 'OPTIONS']) expect(await look(stand.url + path, method)).toEqual(answers[0]);
  expect(stand.reads()).toBe(1);
  expect(stand.facts.slice(1).every(({ account, eventType }) => account === '' && eventType === '')).toBe(true);
});

it('a service that asks by OPTIONS for leave to deliver gets it', async () => {
  const ask = async (headers: Record<string, string>) => {
    const reply = await fetch(stand.addressOf(), { method: 'OPTIONS', headers });
    const said = ['allow', 'webhook-allowed-origin', 'webhook-allowed-rate', 'access-control-allow-origin'];
    return [reply.status, ...said.map((name) => reply.headers.get(name))];
  };
  const asking = { 'WebHook-Request-Origin': 'rides.example' };
  expect(await ask(asking)).toEqual([200, 'GET, HEAD, OPTIONS, POST', '*', null, null]);
  const withRate = { ...asking, 'WebHook-Request-Rate': '120' };
  expect(await ask(withRate)).toEqual([200, 'GET, HEAD, OPTIONS, POST', '*', '*', null]);
  const ofBrowser = { origin: 'https://page.example', 'Access-Control-Request-Method': 'POST' };
  expect(await ask(ofBrowser)).toEqual([200, 'GET, HEAD, OPTIONS, POST', null, null, null]);
  expect(stand.store.deliveries).toEqual([]);
});

it('a service that looks at a right address finds it, and is told nothing', async () => {
  for (const address of [stand.addressOf(), `${stand.addressOf()}/`, `${stand.addressOf('g99')}?challenge=abc`])
    for (const method of ['GET', 'HEAD', 'OPTIONS'])
      expect(await look(address, method)).toEqual({ status: 200, type: null, retryAfter: null, text: '' });
  expect(stand.facts.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 9 }, () => 'look'));
  expect(new Set(stand.bodies), 'names for the log').toEqual(new Set(['look {"challenge":"abc"}']));
  expect((await look(`${stand.addressOf()}x?challenge=abc`, 'HEAD')).status).toBe(404);
  expect(stand.bodies).toHaveLength(3);
  expect(stand.store.deliveries).toEqual([]);
  expect(stand.reads()).toBe(0);
});

it('a delivery to an address that we did not make is refused before its body is read', async () => {
  const { socket, ended, received } = await openRaw(stand.url);
  socket.write(head('Transfer-Encoding: chunked', `${pathOf()}x`)); // and no body ever
  await expect.poll(received).toMatch(/^HTTP\/1.1 404 /);
  expect(await ended).toMatch(/\r\nconnection: close\r\n/i);
});

it('a body that is too large is refused by its declared size, before it is sent', async () => {
  const { socket, ended, received } = await openRaw(stand.url);
  socket.write(head(`Content-Length: ${limit + 1}`));
  await expect.poll(received).toMatch(/^HTTP\/1.1 413 /);
  expect(await ended).toContain('application/problem+json');
});

it('a body that is too large and has no declared size is cut off, and the connection is closed', async () => {
  const { socket, ended, received } = await openRaw(stand.url);
  socket.write(head('Transfer-Encoding: chunked'));
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
  for (let sent = 0; sent < 5; sent += 1) socket.write(chunk);
  await expect.poll(received).toMatch(/^HTTP\/1.1 413 /);
  await ended;
  expect(lastFact()).toMatchObject({ account, outcome: 'tooLarge' });
  expect(stand.store.deliveries).toEqual([]);
});

it('a body that is too large is answered even when the sender goes on writing and reads late', async () => {
  expect(await stand.post('x'.repeat(8 * limit))).toMatchObject({ status: 413 });
  const { socket, ended } = await openRaw(stand.url);
  socket.pause();
  socket.write(head(`Content-Length: ${10 * limit}`));
  for (let sent = 0; sent < 10; sent += 1) {
    await sleep(30);
    socket.write('x'.repeat(limit));
  }
  socket.resume();
  expect(await ended).toMatch(/^HTTP\/1.1 413 /);
});

it.each([
  ['empty', ''],
  ['no JSON', 'order_id=1'],
  ['cut short', about('1').slice(0, -1)],
  ['invalid UTF-8', Buffer.from('7b2261223a22ff227d', 'hex')],
  ['nested without end', '['.repeat(limit)],
])('a body that cannot be read is refused with 400: %s', async (_, body) => {
  const reply = await stand.post(body);
  expect(reply).toMatchObject({ status: 400, type: 'application/problem+json; charset=utf-8' });
  expect(lastFact()).toMatchObject({ outcome: 'notJson' });
  // One that cannot be read leaves nothing behind that harms the next.
  expect(await stand.post(about('1'))).toMatchObject({ status: 202 });
});

it('a body whose compression is unknown, double or broken is refused with its own name, and a plain one taken', async () => {
  const answersTo = async (codings: string[], body: string | Uint8Array = about('1')) => {
    const answers = new Set<string>();
    for (const coding of codings) {
      const { status } = await stand.post(body, { headers: { 'content-encoding': coding } });
      answers.add(`${status} ${lastFact()?.outcome}`);
    }
    return [...answers];
  };
  const ours = ['gzip', 'deflate', 'br'];
  expect(await answersTo(['zstd', 'gzip, gzip', 'gzip, br', 'utf-8, compress'])).toEqual(['415 encoded']);
  expect(await answersTo(ours, Buffer.from('ff01ff', 'hex'))).toEqual(['400 notUnpackable']);
  // A proxy has unpacked it, or the sender means the charset.
  expect(
    await answersTo([...ours, 'identity', ' Identity', '', 'UTF-8', 'iso-8859-1', 'none', 'x', 'toString']),
  ).toEqual(['202 accepted']);
});

it('a body does not come back in the answer', async () => {
  const answers = [await stand.post('{"leak-me"'), await stand.post('leak-me'.repeat(limit))];
  for (const { text, status } of answers) {
    expect(JSON.parse(text)).toMatchObject({ status, title: expect.any(String), type: 'about:blank' });
    expect(text).not.toContain('leak-me');
  }
});

it.each([
  ['journalFull', new JournalError('JournalFull', 'the disk is full')],
  ['journalUnwritable', new JournalError('JournalUnwritable', 'the disk is full')],
  ['unavailable', new Error('the disk is full')],
])('a store that takes nothing makes the answer 503 with Retry-After, never 2xx: %s', async (outcome, error) => {
  stand.store.failWith = error;
  expect(await stand.post(about('1'))).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) });
  expect(lastFact()).toMatchObject({ account, outcome });
  const ready = await stand.post('', { address: `${stand.url}/readyz`, method: 'GET', body: null });
  expect(ready).toMatchObject({ status: 503, text: 'the disk is full\n' });
});

it('the other pages say that the process lives, is ready and what it counted, but not what serves them', async () => {
  const replies = await Promise.all(['/healthz', '/readyz', '/metrics'].map((path) => fetch(stand.url + path)));
  const texts = await Promise.all(replies.map((reply) => reply.text()));
  expect(texts).toEqual(['live\n', 'ready\n', expect.stringContaining('faretrail_deliveries_total')]);
  expect([...(replies[0]?.headers.keys() ?? [])].join()).not.toMatch(/x-powered-by|server/);
});
