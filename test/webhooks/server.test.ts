import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parkedDeliveryId } from '../../src/domain/workflow-ids.js';
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
const lastFact = () => stand.facts.at(-1);
const limit = 256 * 1024;
/** JSON of exactly this many bytes. */
const bodyOf = (bytes: number) => {
  const frame = about('1', { pad: '' });
  return frame.replace('"pad":""', `"pad":"${'x'.repeat(bytes - frame.length)}"`);
};

describe('a good delivery', () => {
  it('is stored, then acknowledged with its id', async () => {
    const reply = await stand.post(about('4711'));
    expect(reply).toMatchObject({ status: 202, type: 'application/json; charset=utf-8' });
    const { deliveryId } = JSON.parse(reply.text);
    expect(deliveryId).toMatch(/^[0-9a-f]{32}$/);
    expect(stand.store.deliveries).toEqual([
      {
        ...{ account, eventType: 'status_changed', orderId: '4711', deliveryId, status: 'Driving' },
        receivedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ]);
    expect(lastFact()).toMatchObject({ account, eventType: 'status_changed', outcome: 'accepted' });
  });

  it('has the same id when it comes again, another one with another body or subscription', async () => {
    const report = { address: stand.addressOf('g1', 'business_report') };
    const bodies = [about('1'), about('1'), about('2')];
    const ids = [];
    for (const body of bodies) ids.push(JSON.parse((await stand.post(body)).text).deliveryId);
    ids.push(JSON.parse((await stand.post(about('1', { event_type: 'business_report' }), report)).text).deliveryId);
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe(ids[1]);
  });

  it.each([undefined, 'application/json', 'text/plain', 'application/x-www-form-urlencoded', 'nonsense', ';;=/'])(
    'may have any content type: %s',
    async (type) => {
      const header = type === undefined ? '' : `Content-Type: ${type}\r\n`;
      const text = head(`Connection: close\r\n${header}Content-Length: ${about('1').length}`) + about('1');
      expect(await sendRaw(stand.url, text)).toMatch(/^HTTP\/1.1 202 /);
    },
  );

  it('may be as large as the limit, and begin with a byte order mark', async () => {
    expect(await stand.post(bodyOf(limit))).toMatchObject({ status: 202 });
    expect(await stand.post(`\uFEFF${about('1')}`)).toMatchObject({ status: 202 });
  });

  it('that waits with Expect gets 100 Continue only at an address that we made', async () => {
    const fields = `Expect: 100-continue\r\nContent-Length: ${about('1').length}`;
    const good = await openRaw(stand.url);
    good.socket.write(head(fields));
    await expect.poll(() => good.received()).toContain('100 Continue');
    good.socket.write(about('1'));
    await expect.poll(() => good.received()).toContain('202 Accepted');
    good.socket.destroy();
    expect(await sendRaw(stand.url, head(fields, `${pathOf()}x`))).toMatch(/^HTTP\/1.1 404 /);
  });
});

describe('a delivery that belongs to no order', () => {
  it('is acknowledged and kept sealed, with its reason', async () => {
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

  it('is one of another company, another event, or with an id that no order can have', async () => {
    await stand.post(about('1', { business_id: '00000000-0000-4000-8000-000000000000' }));
    await stand.post(about('1', { event_type: 'business_report' }));
    await stand.post(about('a/b'));
    const reasons = stand.store.deliveries.map(({ parkReason }) => parkReason);
    expect(reasons).toEqual(['otherCompany', 'otherEventType', 'orderIdUnusable']);
  });

  it('is not one that only tries the address: that is acknowledged and changes nothing', async () => {
    expect(await stand.post(JSON.stringify({ id: '1', event_type: 'test_ping' }))).toMatchObject({ status: 202 });
    expect(stand.store.deliveries).toEqual([]);
    expect(lastFact()).toMatchObject({ outcome: 'test' });
  });
});

describe('an address that we did not make', () => {
  it('gets one and the same answer, whatever is wrong with it', async () => {
    await stand.post(about('1')); // a good one that went before helps none of these
    const good = pathOf();
    const [, , , , capability = ''] = good.split('/');
    const paths = [
      `/webhooks/business/status_changed/${capability.slice(0, -1)}${capability.endsWith('A') ? 'B' : 'A'}`,
      `/webhooks/business/business_report/${capability}`,
      `/webhooks/business/nonsense/${capability}`,
      `/webhooks/nobody/status_changed/${capability}`,
      `/webhooks/%ff/status_changed/${capability}`,
      `/webhooks/business/status_changed/${'a'.repeat(5_000)}`,
      `/webhooks/business/status_changed/${capability}.x`,
      '/webhooks/business/status_changed',
      `${good}/`,
      '/',
      '/%',
    ];
    const answers = await Promise.all(paths.map((path) => stand.post(about('1'), { address: stand.url + path })));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 404, type: 'application/problem+json; charset=utf-8' });
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      expect(await stand.post('{}', { address: stand.url + good, method })).toEqual(answers[0]);
    expect(stand.reads()).toBe(1);
    expect(stand.facts.slice(1).every(({ account, eventType }) => account === '' && eventType === '')).toBe(true);
  });

  it('is refused before its body is read', async () => {
    const { socket, ended, received } = await openRaw(stand.url);
    socket.write(head('Transfer-Encoding: chunked', `${pathOf()}x`)); // and no body ever
    await expect.poll(received).toMatch(/^HTTP\/1.1 404 /);
    expect(await ended).toMatch(/\r\nconnection: close\r\n/i);
  });

  it('holds for an account whose address was made but which is not configured', async () => {
    const other = { account: 'other' as typeof account, eventType: 'status_changed', generation: 'g1' } as const;
    const address = stand.url + stand.paths.pathOf(other);
    expect(await stand.post(about('1'), { address })).toMatchObject({ status: 404 });
  });
});

describe('a body that is too large', () => {
  it('is refused by its declared size, before it is sent', async () => {
    const { socket, ended, received } = await openRaw(stand.url);
    socket.write(head(`Content-Length: ${limit + 1}`));
    await expect.poll(received).toMatch(/^HTTP\/1.1 413 /);
    expect(await ended).toContain('application/problem+json');
  });

  it('is cut off while it streams when it has no declared size, and the connection is closed', async () => {
    const { socket, ended, received } = await openRaw(stand.url);
    socket.write(head('Transfer-Encoding: chunked'));
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    for (let sent = 0; sent < 5; sent += 1) socket.write(chunk);
    await expect.poll(received).toMatch(/^HTTP\/1.1 413 /);
    await ended;
    expect(lastFact()).toMatchObject({ account, outcome: 'tooLarge' });
    expect(stand.store.deliveries).toEqual([]);
  });

  it('is answered even when the sender goes on writing and reads late', async () => {
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
});

describe('a body that cannot be read', () => {
  it.each([
    ['empty', ''],
    ['no JSON', 'order_id=1'],
    ['cut short', about('1').slice(0, -1)],
    ['an array', '[]'],
    ['a scalar', '"text"'],
    ['null', 'null'],
    ['invalid UTF-8', Buffer.from('7b2261223a22ff227d', 'hex')],
    ['nested without end', '['.repeat(limit)],
  ])('is refused with 400: %s', async (_, body) => {
    const reply = await stand.post(body);
    expect(reply).toMatchObject({ status: 400, type: 'application/problem+json; charset=utf-8' });
    expect(lastFact()).toMatchObject({ outcome: 'notJson' });
    // One that cannot be read leaves nothing behind that harms the next.
    expect(await stand.post(about('1'))).toMatchObject({ status: 202 });
  });

  it('is taken but parked when it is odd: deep, with names of prototypes, with a name twice', async () => {
    const deep = `{"order_id":"1","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const odd = '{"__proto__":{"order_id":"7"},"constructor":{"prototype":{"order_id":"8"}},"status":"x"}';
    const twice = '{"order_id":"1","order_id":"2"}';
    for (const body of [deep, odd, twice]) expect(await stand.post(body)).toMatchObject({ status: 202 });
    const kept = stand.store.deliveries.map(({ orderId, parkReason }) => ({ orderId, parkReason }));
    expect(kept).toEqual(Array.from({ length: 3 }, () => ({ orderId: null, parkReason: 'ambiguousBody' })));
  });

  it('is a compressed one, with 415', async () => {
    const postAs = (coding: string) => stand.post(about('1'), { headers: { 'content-encoding': coding } });
    expect([(await postAs('gzip')).status, (await postAs('identity')).status]).toEqual([415, 202]);
  });

  it('does not come back in the answer', async () => {
    const answers = [await stand.post('{"leak-me"'), await stand.post('leak-me'.repeat(limit))];
    for (const { text, status } of answers) {
      expect(JSON.parse(text)).toMatchObject({ status, title: expect.any(String), type: 'about:blank' });
      expect(text).not.toContain('leak-me');
    }
  });
});

describe('a store that takes nothing', () => {
  it.each([
    ['JournalFull', 'journalFull'],
    ['JournalUnwritable', 'journalUnwritable'],
    ['Unreachable', 'unavailable'],
  ])('makes the answer 503 with Retry-After, never 2xx: %s', async (code, outcome) => {
    stand.store.failWith = Object.assign(new Error('the disk is full'), { code });
    expect(await stand.post(about('1'))).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) });
    expect(lastFact()).toMatchObject({ account, outcome });
    const ready = await stand.post('', { address: `${stand.url}/readyz`, method: 'GET', body: null });
    expect(ready).toMatchObject({ status: 503, text: 'the disk is full\n' });
  });
});

describe('the other pages', () => {
  it('say that the process lives, is ready and what it counted, but not what serves them', async () => {
    const replies = await Promise.all(['/healthz', '/readyz', '/metrics'].map((path) => fetch(stand.url + path)));
    const texts = await Promise.all(replies.map((reply) => reply.text()));
    expect(texts).toEqual(['live\n', 'ready\n', 'some 1\n']);
    expect([...(replies[0]?.headers.keys() ?? [])].join()).not.toMatch(/x-powered-by|server/);
  });
});
