import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readIncomingJson } from '../../src/contracts/json.js';
import { shares } from '../../src/domain/shares.js';
import { ShareUsedUp } from '../../src/webhooks/forward/routing.js';
import { oneEachTurn } from '../../src/webhooks/one-each-turn.js';
import { accepted, aStand, byMac, signatureOf } from './ingress-stand.js';

const kilobytes = (count: number, n = 0) => JSON.stringify({ order_id: `${n}`, pad: 'x'.repeat(count * 1_024 - 40) });
const statusesOf = (answers: readonly { status: number }[]) => answers.map(({ status }) => status);

it('a body counts as one delivery for each 4 kB that are declared, before it is read', async () => {
  const stand = await aStand({ perSecond: 1 });
  const large = await Promise.all(Array.from({ length: 20 }, (_, n) => stand.post(kilobytes(32, n))));
  expect(statusesOf(large).filter((status) => status === 202)).toHaveLength(7); // 60 deliveries, eight each
  expect(stand.store.deliveries).toHaveLength(7);
  const small = await Promise.all(Array.from({ length: 10 }, (_, n) => stand.post(kilobytes(1, 100 + n))));
  expect(statusesOf(small).filter((status) => status === 202).length).toBeGreaterThanOrEqual(4);
});

it('a packed body reserves what it may unpack to, and gets back what it does not take', async () => {
  const stand = await aStand({ perSecond: 1 });
  const post = () => stand.post(gzipSync(kilobytes(1)), { headers: { 'content-encoding': 'gzip' } });
  for (let sent = 0; sent < 50; sent += 1) expect((await post()).status).toBe(202);
});

const shapes = ['9007199254740993', '4294967297.12345678901234567', '1e-9', '{}', '[[[[[]]]]]', '""', '{"a":1}'];

it.each(shapes)(
  'a delivery full of %s is read within its limits, and no flaw costs more than a plain parse',
  (unit) => {
    const text = `[${`${unit},`.repeat(Math.floor(32_000 / (unit.length + 1)))}0]`;
    const json = readIncomingJson(Buffer.from(text), { mustBeUtf8: true, limits: shares.body });
    const items = text.split(',').length - 1;
    const isLong = unit.length > 15 && /^\d/.test(unit);
    expect(json?.flaw).toBe(isLong || items > shares.body.items ? 'TOO_MANY' : null);
    if (json?.flaw === 'TOO_MANY') expect(JSON.stringify(json.value)).toBe(JSON.stringify(JSON.parse(text)));
  },
);

it('large bodies at one address wait for each other, and not those at another one', async () => {
  const myTurn = oneEachTurn();
  const went: string[] = [];
  const go = async (name: string) => {
    await myTurn(name);
    went.push(name);
  };
  await Promise.all([go('a'), go('a'), go('a'), go('b')]);
  expect(went).toEqual(['a', 'b', 'a', 'a']);
});

const orders = (from: number, count: number) => Array.from({ length: count }, (_, n) => `{"order_id":"${from + n}"}`);

it.each(['signed', 'hmac'] as const)(
  'mode %s: forged deliveries use up nothing of those that prove themselves',
  async (mode) => {
    const stand = await aStand({ perSecond: 1, ...(mode === 'hmac' && { verification: byMac }) });
    const signed = (body: string) => stand.post(body, { headers: { 'x-mac': signatureOf(body) } });
    const forged = (body: string) => stand.post(body, { headers: { 'x-mac': signatureOf(body, 'another secret') } });
    expect((await signed('{"order_id":"first"}')).status).toBe(202);
    await Promise.all(orders(0, 80).map(forged));
    const unsigned = await Promise.all(orders(0, 80).map((body) => stand.post(body)));
    expect(statusesOf(unsigned)).toContain(429);
    expect(statusesOf(await Promise.all(orders(0, 80).map(forged)))).toContain(429);
    const genuine = await Promise.all(orders(1_000, 50).map(signed));
    expect(new Set(statusesOf(genuine))).toEqual(new Set([202]));
    expect(stand.store.deliveries.every(({ orderId }) => orderId === 'first' || Number(orderId) >= 1_000)).toBe(true);
    const packed = gzipSync('{"order_id":"packed"}');
    const headers = { 'content-encoding': 'gzip', 'x-mac': signatureOf(packed) };
    expect((await stand.post(packed, { headers })).status).toBe(202);
    expect(stand.store.deliveries.at(-1)?.orderId).toBe('packed');
  },
);

it('those that prove themselves have a share as well', async () => {
  const stand = await aStand({ perSecond: 1, verification: byMac });
  const answers = await Promise.all(
    orders(0, 80).map((body) => stand.post(body, { headers: { 'x-mac': signatureOf(body) } })),
  );
  const taken = statusesOf(answers).filter((status) => status === 202);
  expect([taken.length >= 60, taken.length < 70]).toEqual([true, true]);
});

it('whatever a flood has cost, the address is taken from again as soon as its share has grown by one delivery', async () => {
  const bomb = gzipSync(Buffer.alloc(24 * 2 ** 20, 0x20));
  const memo = { accepted: [await accepted((await aStand()).sealer)] };
  const stand = await aStand({ perSecond: 20, memo });
  const send = () => stand.post(bomb, { headers: { 'content-encoding': 'gzip' } });
  await Promise.all(Array.from({ length: 30 }, send));
  expect((await stand.post('{"order_id":"1"}')).status).toBe(429);
  await expect.poll(async () => (await stand.post('{"order_id":"1"}')).status, { timeout: 5_000 }).toBe(202);
});

it.each([
  ['parked', 'tooManyParked', '600'],
  ['newOrders', 'tooManyNew', '10'],
] as const)('what an account may not have any more of the share %s gets 429', async (reason, outcome, retryAfter) => {
  const stand = await aStand();
  stand.store.failWith = new ShareUsedUp(reason);
  expect(await stand.post('{"note":"x"}')).toMatchObject({ status: 429, retryAfter });
  expect(stand.facts).toMatchObject([{ outcome }]);
});
