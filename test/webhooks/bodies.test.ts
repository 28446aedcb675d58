import { createHash, createHmac } from 'node:crypto';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Delivery } from '../../src/domain/delivery.js';
import { createShortening } from '../../src/webhooks/intake.js';
import { openContent } from '../../src/webhooks/raw-delivery.js';
import { testSeed } from '../setup/seed.js';
import { aForwarder, recordedPort } from './forward/port.js';
import { accepted, account, aStand, type IngressStand, secretId } from './ingress-stand.js';
import { aJournal } from './journal/folders.js';

const limit = 32 * 1024;
const about = (order: unknown, more: object = {}) => ({ order_id: order, status: 'Driving', ...more });
/** What is kept: the order, or why it is parked. */
const short = ({ orderId, parkReason }: Delivery) => orderId ?? parkReason;
const kept = (stand: IngressStand) => stand.store.deliveries.map(short);
/** What a person sees of a parked delivery. */
async function seenIn({ sealer }: IngressStand, delivery?: { deliveryId: string; sealed?: string }): Promise<string> {
  const { deliveryId = '', sealed = '' } = delivery ?? {};
  return (await openContent(sealer, { account, deliveryId }, sealed)).unpacked.toString();
}
it('any JSON value is taken, and parked where it names no order: a list is no delivery', async () => {
  const stand = await aStand();
  const anywhere = ['null', ' 7 ', '"text"', 'true', '[]', '[[]]', JSON.stringify([about(1), about(2)])];
  anywhere.push(JSON.stringify(JSON.stringify(about(1))));
  for (const eventType of ['status_changed', 'business_report'] as const)
    for (const body of anywhere)
      expect(await stand.post(body, { address: stand.addressOf('g1', eventType) })).toMatchObject({ status: 202 });
  expect(kept(stand)).toEqual([...anywhere, ...anywhere].map(() => 'noOrderId'));
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
  const spaces = Buffer.alloc(24 * 2 ** 20, 0x20);
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

const memo = new Error('Temporal does not answer');
const bringBack = async ({ memos, sealer }: IngressStand) =>
  memos.set('subscription/business/status_changed', { accepted: [await accepted(sealer)] });

const anything = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('order'));
const drawnBody = fc.record({
  kind: fc.constantFrom('text', 'number', 'long', 'other'),
  other: anything,
  packing: fc.constantFrom('plain', 'message', 'base64'),
  coding: fc.constantFrom(null, 'gzip', 'deflate', 'raw', 'br'),
  slash: fc.constantFrom('', '/'),
  isOut: fc.boolean(),
});
const packers = { gzip: gzipSync, deflate: deflateSync, raw: deflateRawSync, br: brotliCompressSync };

it('whatever JSON comes, however packed: a 2xx means that it gets to its order or to a person', async () => {
  const seed = testSeed();
  const journal = await aJournal();
  const accept = journal.append;
  const [calm, out] = [await aStand({ accept }), await aStand({ accept, memo })];
  let made = 0;
  const sent = fc.sample(drawnBody, { numRuns: 120, seed }).map(({ kind, other, packing, coding, ...rest }) => {
    made += 1;
    const id = `${kind === 'long' ? 10n ** 24n + BigInt(made) : 4_000 + made}`;
    const order = `{"order_id":${kind === 'text' ? `"${id}"` : id}}`;
    const inner = kind === 'other' ? JSON.stringify(other) : order;
    const message = packing === 'base64' ? Buffer.from(inner).toString('base64url') : inner;
    const text = packing === 'plain' ? inner : JSON.stringify({ id: `event ${made}`, message });
    const body = coding === null ? Buffer.from(text) : packers[coding](text);
    return { ...rest, id: kind === 'other' ? null : id, text, body, coding: coding === 'raw' ? 'deflate' : coding };
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
  for (const { id, text } of sent)
    expect(id === null ? parked.includes(text) : reached.has(id), `seed ${seed}: ${text}`).toBe(true);
  expect([...out.failures, ...calm.failures]).toEqual([]);
});

it('of a long body that a person has to place its first 16 KiB are kept, with size and hash of the whole, and a later check has all', async () => {
  const body = JSON.stringify({ note: `${'x'.repeat(16_384 - 10)}äöü`, pad: 'y'.repeat(10_000) });
  const begin = body.slice(0, 16_384 - 1); // the limit is in the middle of a letter
  const wanted = { bytes: Buffer.byteLength(body), sha256: createHash('sha256').update(body).digest('hex') };
  const stand = await aStand();
  const out = await aStand({ memo });
  for (const [coding, bytes] of [
    ['identity', Buffer.from(body)],
    ['gzip', gzipSync(body)],
  ] as const) {
    const headers = { 'content-encoding': coding };
    expect((await stand.post(bytes, { headers })).status).toBe(202);
    const { deliveryId, sealed = '' } = stand.store.deliveries.at(-1) ?? expect.fail('nothing was kept');
    const opened = await openContent(stand.sealer, { account, deliveryId }, sealed);
    expect([opened.cut, opened.unpacked.toString().slice(0, 16_000)]).toEqual([wanted, begin.slice(0, 16_000)]);
    expect(opened.unpacked.length).toBeLessThanOrEqual(16_384);
    expect(opened.unpacked.toString().isWellFormed()).toBe(true);
    expect(opened.unpacked.toString()).not.toContain('\ufffd');
    expect(sealed.length).toBeLessThan(32_768);

    expect((await out.post(bytes, { headers })).status).toBe(202);
    const unchecked = out.store.deliveries.at(-1) ?? expect.fail('nothing was kept');
    expect(await seenIn(out, unchecked)).toBe(body);
    const shortened = await createShortening(out.sealer)(unchecked);
    expect((await openContent(out.sealer, { account, deliveryId }, shortened)).cut).toEqual(wanted);
  }
});
