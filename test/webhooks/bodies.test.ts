import { createHash, createHmac } from 'node:crypto';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { readIncomingJson } from '../../src/contracts/json.js';
import type { Delivery } from '../../src/domain/delivery.js';
import { createDirectForwarding } from '../../src/webhooks/forward/routing.js';
import { openContent } from '../../src/webhooks/raw-delivery.js';
import { testSeed } from '../setup/seed.js';
import { patient } from '../support/patience.js';
import { aForwarder, recordedPort } from './forward/port.js';
import {
  accepted,
  account,
  aStand,
  businessId,
  byMac,
  type IngressStand,
  secretId,
  signatureOf,
} from './ingress-stand.js';
import { aJournal } from './journal/folders.js';

const limit = 256 * 1024;
const about = (order: unknown, more: object = {}) => ({ order_id: order, status: 'Driving', ...more });
const idOf = (text: string, eventType = 'status_changed') =>
  createHash('sha256').update(`business/${eventType}/${text}`).digest('hex').slice(0, 32);
/** What is kept: the order, or why it is parked. */
const short = ({ orderId, parkReason }: Delivery) => orderId ?? parkReason;
const kept = (stand: IngressStand) => stand.store.deliveries.map(short);
const post = ({ post }: IngressStand, body: unknown) => post(JSON.stringify(body));
/** What a person sees of a parked delivery. */
async function seenIn({ sealer }: IngressStand, delivery?: { deliveryId: string; sealed?: string }): Promise<string> {
  const { deliveryId = '', sealed = '' } = delivery ?? {};
  return (await openContent(sealer, { account, deliveryId }, sealed)).unpacked.toString();
}
const listed = { delivery: { events: ['/*', '/data/events/*'] } };

it('each event of a body is a delivery of its own, with the id that it has alone and in any other body', async () => {
  const stand = await aStand(listed);
  const [one, other] = [about('1'), about('2', { status: 'Completed' })];
  const list = JSON.stringify({ data: { events: [one, other] }, n: 1 });
  expect(JSON.parse((await stand.post(list)).text)).toEqual({ deliveryId: idOf(list) });
  await stand.post(JSON.stringify([other, one], null, 2));
  await post(stand, one);
  const [first, second] = [one, other].map((event) => idOf(JSON.stringify(event)));
  expect(stand.store.deliveries.map(({ deliveryId }) => deliveryId)).toEqual([first, second, second, first, first]);
  expect(stand.store.deliveries[1]).toMatchObject({ orderId: '2', status: 'Completed' });
  expect(stand.facts.map(({ outcome }) => outcome)).toEqual(['accepted', 'accepted', 'accepted']);
});

it('what stands beside the list counts for each event that does not say otherwise', async () => {
  const stand = await aStand(listed);
  const body = {
    ...{ order_id: '7', event_type: 'status_changed', business_id: 'another' },
    data: { events: [{ status: 'Driving', business_id: businessId }, about('8'), 'text'] },
  };
  await post(stand, body);
  await post(stand, { ...body, order_id: '9' });
  expect(kept(stand)).toEqual(['7', 'otherCompany', 'otherCompany', '9', 'otherCompany', 'otherCompany']);
  const ids = stand.store.deliveries.map(({ deliveryId }) => deliveryId);
  expect(ids[0], 'the same words about another order').not.toBe(ids[3]);
  expect(ids[1]).toBe(ids[4]);
  await post(stand, { event_type: 'test', data: { events: [about('11'), about('10')] } });
  await post(stand, { order_id: '12', data: { events: [about('13')] } });
  expect(kept(stand).slice(6)).toEqual(['otherEventType', '13', '12']);
});

it('any JSON value is taken, and parked whole where no part of it fits', async () => {
  const stand = await aStand(listed);
  const anywhere = ['null', ' 7 ', '"text"', 'true', '[]', '[[]]'];
  const tooMany = JSON.stringify(Array.from({ length: 1_001 }, (_, n) => about(n)));
  for (const eventType of ['status_changed', 'business_report'] as const)
    for (const body of [...anywhere, tooMany])
      expect(await stand.post(body, { address: stand.addressOf('g1', eventType) })).toMatchObject({ status: 202 });
  for (const body of ['[{"a":1},{}]', '{"data":{"events":[{}]}}', '{"data":[]}']) await stand.post(body);
  const each = [...anywhere.map(() => 'noOrderId'), 'ambiguousBody'];
  expect(kept(stand)).toEqual([...each, ...each, 'noOrderId', 'noOrderId', 'noOrderId']);
  expect(await seenIn(stand, stand.store.deliveries[1])).toBe(' 7 ');
});

const event = JSON.stringify(about('4711'));
const packed: [string, Buffer][] = [
  ['gzip', gzipSync(event)],
  ['X-Gzip', gzipSync(event)],
  ['deflate', deflateSync(event)],
  ['deflate', deflateRawSync(event)],
  ['br', brotliCompressSync(event)],
];
const signed = (body: Buffer | string) => createHmac('sha256', secretId).update(body).digest('hex');

it.each(packed)('a body packed as %s is the same delivery as the plain one', async (coding, body) => {
  const stand = await aStand();
  await stand.post(event);
  expect(await stand.post(body, { headers: { 'content-encoding': coding } })).toMatchObject({ status: 202 });
  const [plain, other] = stand.store.deliveries;
  expect({ ...other, receivedAt: plain?.receivedAt }).toEqual(plain);
});

it('in mode hmac a signature of a packed body counts over what the profile says', async () => {
  const hmac = { mode: 'hmac', header: 'x-sig', algorithm: 'sha256', encoding: 'hex', prefix: '' } as const;
  const [, body] = packed[0] as [string, Buffer];
  const headersOf = (signature: string) => ({ 'content-encoding': 'gzip', 'x-sig': signature });
  const outcomes: unknown[] = [];
  for (const over of ['received', 'unpacked'] as const) {
    const stand = await aStand({ verification: { ...hmac, over } });
    for (const signature of [signed(body), signed(event)])
      outcomes.push((await stand.post(body, { headers: headersOf(signature) })).status);
  }
  expect(outcomes).toEqual([202, 401, 401, 202]);
});

it('a body that unpacks to more than a body may have gets 413 by its own name, costs little, and counts as many', async () => {
  const spaces = Buffer.alloc(64 * 2 ** 20, 0x20);
  const bombs = {
    gzip: gzipSync(spaces),
    br: brotliCompressSync(spaces, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } }),
  };
  const postPacked = (stand: IngressStand, coding: 'gzip' | 'br', body = bombs[coding]) =>
    stand.post(body, { headers: { 'content-encoding': coding } });
  const stand = await aStand();
  const before = process.memoryUsage().rss;
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, n) => postPacked(stand, n % 2 === 0 ? 'gzip' : 'br')),
  );
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([413]));
  expect(new Set(stand.facts.map(({ outcome }) => outcome))).toEqual(new Set(['tooLargeUnpacked']));
  const exact = JSON.stringify({ order_id: '1', pad: 'x'.repeat(limit - 25) });
  expect([exact.length, (await postPacked(stand, 'gzip', gzipSync(exact))).status]).toEqual([limit, 202]);
  expect((await postPacked(stand, 'gzip', gzipSync(` ${exact}`))).status).toBe(413);

  const few = await aStand({ perSecond: 1 });
  expect([(await postPacked(few, 'br')).status, (await few.post(event)).status]).toEqual([413, 429]);
});

it('the events of a body count as deliveries of their address', async () => {
  const stand = await aStand({ perSecond: 1 });
  const many = Array.from({ length: 100 }, (_, n) => about(n));
  await post(stand, many);
  expect([stand.store.deliveries.length, (await stand.post(event)).status]).toEqual([100, 429]);
});

const answersAs = (['text', 'json'] as const).map((answer) => ({ answer }));
it.each([
  ...answersAs.map((how) => ({ mode: 'query' as const, name: 'hub.challenge', ...how })),
  ...answersAs.map((how) => ({ mode: 'body' as const, pointer: '/ask/back', ...how })),
])('by profile the ingress gives a challenge back: %j', async (challenge) => {
  const stand = await aStand({ delivery: { challenge }, memo: { accepted: [] } });
  const ask = { back: 'a<b>"' };
  const answer = {
    text: { type: 'text/plain; charset=utf-8', text: ask.back },
    json: {
      type: 'application/json; charset=utf-8',
      text: JSON.stringify(challenge.mode === 'query' ? { [challenge.name]: ask.back } : ask),
    },
  }[challenge.answer];
  const address = `${stand.addressOf()}/?hub.challenge=${encodeURIComponent(ask.back)}`;
  const body = challenge.mode === 'query' ? '' : JSON.stringify({ ask });
  const answers = [await stand.post(body, { address })];
  if (challenge.mode === 'query') answers.push(await stand.post('', { address, method: 'GET', body: null }));
  for (const one of answers) expect(one).toMatchObject({ status: 200, ...answer });
  expect(new Set(stand.facts.map(({ outcome }) => outcome))).toEqual(new Set(['challenge']));
  expect((await stand.post(body, { address: address.replace('/?', 'x?') })).status).toBe(404);
  // What may be a delivery is one, whatever it asks for: here of an address that has ended.
  for (const more of [{ ...about('1'), ask }, [{ ...about('1'), ask }], { ask: { back: 'x'.repeat(1_025) } }])
    expect((await stand.post(JSON.stringify(more), { address })).status).toBe(401);
});

const memo = new Error('Temporal does not answer');
const bringBack = async ({ memos, sealer }: IngressStand) =>
  memos.set('subscription/business/status_changed', { accepted: [await accepted(sealer)] });

it('a body of several events that its path alone admits is kept once, and taken apart after its check', async () => {
  const stand = await aStand({ verification: byMac, memo });
  const body = gzipSync(JSON.stringify([about('1'), about('2'), { note: 'x' }]));
  for (const mac of [signatureOf(body), 'wrong'])
    await stand.post(body, { headers: { 'content-encoding': 'gzip', 'x-mac': mac } });
  const whole = stand.store.deliveries.splice(0);
  expect(whole).toMatchObject([{ orderId: null, uncheckedGeneration: 'g1', uncheckedEvents: { businessId } }, {}]);
  await bringBack(stand);
  const { port, calls } = recordedPort();
  const forward = createDirectForwarding({ port, check: stand.laterCheck });
  await vi.waitFor(() => Promise.all(whole.map(forward)), patient);
  expect(kept(stand)).toEqual(['1', '2', 'noOrderId']);
  const deliveryId = idOf(JSON.stringify(about('1')));
  expect(stand.store.deliveries[0]).toMatchObject({ deliveryId, receivedAt: whole[0]?.receivedAt });
  expect(await seenIn(stand, stand.store.deliveries[2])).toBe('{"note":"x"}');
  expect(calls).toEqual([`parked wrongSecret: ${whole[1]?.deliveryId}`]);
  expect(await seenIn(stand, whole[1])).toContain('"order_id":"2"');
});

const anything = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('order'));
const part = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('text', 'number', 'long').map((kind) => ({ kind })) },
  { weight: 2, arbitrary: anything.map((value) => ({ kind: 'other', text: JSON.stringify(value) })) },
);
const drawnBody = fc.record({
  parts: fc.array(part, { maxLength: 6 }),
  form: fc.constantFrom('array', 'list', 'alone'),
  coding: fc.constantFrom(null, 'gzip', 'deflate', 'raw', 'br'),
  slash: fc.constantFrom('', '/'),
  isOut: fc.boolean(),
});
const packers = { gzip: gzipSync, deflate: deflateSync, raw: deflateRawSync, br: brotliCompressSync };

it('whatever JSON comes, however packed: a 2xx means that each event of it gets to its order or to a person', async () => {
  const seed = testSeed();
  const journal = await aJournal();
  const accept = journal.append;
  const delivery = { events: ['/*', '/events/*'] };
  const [calm, out] = [await aStand({ delivery, accept }), await aStand({ delivery, accept, memo })];
  let made = 0;
  const sent = fc.sample(drawnBody, { numRuns: 120, seed }).map(({ parts, form, coding, ...rest }) => {
    const orders: string[] = [];
    const texts = parts.map((one) => {
      if ('text' in one) return one.text;
      made += 1;
      const id = `${one.kind === 'long' ? 10n ** 24n + BigInt(made) : 4_000 + made}`;
      orders.push(id);
      return `{"order_id":${one.kind === 'text' ? `"${id}"` : id}}`;
    });
    const list = `[${texts.join()}]`;
    const text = { array: list, list: `{"n":1,"events":${list}}`, alone: texts[0] ?? 'null' }[form];
    const body = coding === null ? Buffer.from(text) : packers[coding](text);
    const isAlone = form === 'alone';
    return { ...rest, orders, texts, text, body, coding: coding === 'raw' ? 'deflate' : coding, isAlone };
  });
  for (const { isOut, body, coding, slash } of sent) {
    const stand = isOut ? out : calm;
    const headers = coding === null ? {} : { 'content-encoding': coding };
    const answer = await stand.post(body, { address: stand.addressOf() + slash, headers });
    expect(answer, `seed ${seed}`).toMatchObject({ status: 202 });
  }
  await bringBack(out);

  const recorded = recordedPort();
  const parked: string[] = [];
  const park: typeof recorded.port.park = async (delivery) => void parked.push(await seenIn(out, delivery));
  aForwarder({ journal, port: { ...recorded.port, park }, check: out.laterCheck });
  await expect.poll(() => journal.depth()).toBe(0);
  const reached = new Set(recorded.calls.map((call) => call.split(/[ :]/)[1]));
  const isFound = (text: string) => parked.includes(text);
  for (const { orders, texts, text, isAlone } of sent) {
    if (isFound(text)) continue;
    for (const one of isAlone ? texts.slice(0, 1) : texts) {
      const id = /"order_id":"?(\d+)/.exec(one)?.[1];
      const isOrder = id !== undefined && orders.includes(id);
      const asRead = JSON.stringify(readIncomingJson(Buffer.from(one))?.value); // a long number as text
      expect(
        isOrder ? reached.has(id) || (id.length > 20 && isFound(asRead)) : isFound(asRead),
        `seed ${seed}: ${one} in ${text}`,
      ).toBe(true);
    }
  }
  expect([...out.failures, ...calm.failures]).toEqual([]);
});
