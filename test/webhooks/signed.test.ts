import { expect, it, onTestFinished, vi } from 'vitest';
import type { ProofCounts } from '../../src/domain/subscription/proofs.js';
import { createProofRecord } from '../../src/webhooks/proof-record.js';
import { isLong } from '../support/long.js';
import { accepted, account, aStand, type IngressStand, signatureOf } from './ingress-stand.js';

const statusChanged = 'subscription/business/status_changed';
const body = '{"order_id":"4711","status":"Driving"}';
const signed = { headers: { 'x-drawn': signatureOf(body) } };
const accept = async ({ memos, sealer }: IngressStand, over: Parameters<typeof accepted>[1] = {}) =>
  memos.set(statusChanged, { accepted: [await accepted(sealer, over)] });
const statusOf = async (answer: Promise<{ status: number }>) => (await answer).status;

it('the address alone admits deliveries until the first signed one; from then on each needs a signature', async () => {
  const stand = await aStand();
  expect(await statusOf(stand.post(body))).toBe(202);
  expect(stand.reports).toEqual([]);
  expect(await statusOf(stand.post(body, signed))).toBe(202);
  expect(await statusOf(stand.post(body))).toBe(401);
  expect(stand.facts.at(-1)?.outcome).toBe('wrongSecret');
  expect(await statusOf(stand.post(body, { headers: { 'x-renamed': signatureOf(body) } }))).toBe(202);
  expect(stand.headers).toEqual(['x-drawn', 'x-renamed']);
  expect(stand.reports).toEqual([
    { generation: 'g1', header: 'x-drawn', verified: 1, refused: 0, from: expect.any(String) },
  ]);
});

it('another address of the subscription starts anew', async () => {
  const stand = await aStand();
  await stand.post(body, signed);
  const more = await accepted(stand.sealer, { generation: 'g2' });
  stand.memos.set(statusChanged, { accepted: [more, await accepted(stand.sealer)] });
  expect(await statusOf(stand.post(body, { address: stand.addressOf('g2') }))).toBe(202);
  expect(await statusOf(stand.post(body))).toBe(401);
});

const verified = { header: 'x-drawn', at: '2026-11-28T10:00:00.000Z', reportEveryMs: 3_600_000 };

it('an ingress that has seen none itself knows from the subscription that signatures are compulsory', async () => {
  const stand = await aStand();
  await accept(stand, { verified });
  expect(await statusOf(stand.post(body))).toBe(401);
  expect(await statusOf(stand.post(body, signed))).toBe(202);
  expect(stand.reports, 'the run knows it already').toEqual([]);
});

it('while Temporal does not answer the address admits a delivery, and the later check judges it by its signature', async () => {
  const stand = await aStand({ memo: new Error('Temporal does not answer') });
  for (const headers of [signed.headers, {}, { 'x-drawn': signatureOf('other') }])
    expect(await statusOf(stand.post(body, { headers }))).toBe(202);
  await accept(stand);
  const [right, none, wrong] = stand.store.deliveries as [never, never, never];
  const check = (delivery: never) => stand.laterCheck(delivery).catch(() => 'not yet');
  await expect.poll(() => check(none)).toBeNull();
  expect(await check(right)).toBeNull();
  expect([await check(none), await check(wrong)]).toEqual(['wrongSecret', 'wrongSecret']);
});

it('with no secret to compare with, an ingress answers 503 once signatures are compulsory', async () => {
  const stand = await aStand();
  await accept(stand, { verified, secrets: ['sealed for another'] });
  expect(await statusOf(stand.post(body, signed))).toBe(503);
  expect(stand.reports).toEqual([]);
});

it('where the secret was lost the address stays the only proof', async () => {
  const stand = await aStand();
  await accept(stand, { secrets: [], isSecretLost: true });
  for (let count = 0; count < 3; count += 1) expect(await statusOf(stand.post(body, signed))).toBe(202);
  expect(await statusOf(stand.post(body))).toBe(202);
});

const forged = isLong ? 100_000 : 2_000;
it(`none of ${forged} forged deliveries by somebody who knows the address is accepted, and few memos are read`, {
  timeout: 600_000,
}, async () => {
  const stand = await aStand();
  await stand.post(body, signed);
  const before = { reads: stand.reads(), at: performance.now() };
  const send = async (from: number) => {
    for (let count = from; count < forged; count += 50) {
      const text = `{"order_id":"f-${count}","status":"Driving"}`;
      const headers = { 'x-drawn': signatureOf(text, 'a guess'), 'x-other': signatureOf(body) };
      expect(await statusOf(stand.post(text, { headers }))).toBe(401);
    }
  };
  await Promise.all(Array.from({ length: 50 }, (_, from) => send(from)));
  const seconds = (performance.now() - before.at) / 1_000;
  expect(stand.store.deliveries).toHaveLength(1);
  expect(stand.reads() - before.reads).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
  expect(stand.reports.length).toBeLessThanOrEqual(2);
});

const key = { account, eventType: 'status_changed' } as const;
const yes = { verdict: 'verified', header: 'x-drawn' } as const;
const no = { verdict: 'wrongSecret', header: null } as const;

/** A record with a clock and a Temporal that the test sets. */
function aRecord() {
  vi.useFakeTimers({ now: Date.parse('2026-11-28T10:00:00.000Z') });
  onTestFinished(() => void vi.useRealTimers());
  const reports: ProofCounts[] = [];
  const temporal = { isOut: false };
  const report = async (_key: unknown, counts: ProofCounts) => {
    if (temporal.isOut) throw new Error('Temporal does not answer');
    return reports.push(counts) > 0;
  };
  const record = createProofRecord({ report, monotonic: () => Date.now() });
  return {
    ...{ reports, temporal },
    async note(judgement: typeof yes | typeof no, afterMs = 0, published: typeof verified | null = verified) {
      await vi.advanceTimersByTimeAsync(afterMs);
      record.note(key, 'g1', judgement, published);
      await vi.advanceTimersByTimeAsync(0);
    },
    counts: () => reports.map((one) => [one.verified, one.refused]),
  };
}
const hour = 3_600_000;

it('an ingress reports the first verified delivery at once, and then its counts once an hour', async () => {
  const { note, counts } = aRecord();
  await note(yes, 0, null);
  for (let count = 0; count < 59; count += 1) await note(count % 2 === 0 ? yes : no, 60_000);
  expect(counts()).toEqual([[1, 0]]);
  await note(yes, 60_000);
  expect(counts()).toEqual([
    [1, 0],
    [31, 29],
  ]);
});

it('the first verified delivery after a report of refusals alone is reported at once, so that attention goes', async () => {
  const { note, counts } = aRecord();
  await note(no);
  await note(no, hour);
  await note(yes, 1_000);
  await note(no, 1_000);
  await note(yes, 1_000);
  expect(counts()).toEqual([
    [0, 2],
    [1, 0],
  ]);
});

it('a report that fails is repeated with later deliveries, and loses no count', async () => {
  const { note, counts, temporal } = aRecord();
  temporal.isOut = true;
  await note(yes, 0, null);
  await note(no, 1_000, null);
  temporal.isOut = false;
  await note(no, 1_000, null);
  expect(counts(), 'within the pause').toEqual([]);
  await note(yes, 5_000, null);
  expect(counts()).toEqual([[2, 2]]);
});

it('an ingress reports as often as the subscription says', async () => {
  const { note, counts } = aRecord();
  const often = { ...verified, reportEveryMs: 100 };
  for (let count = 0; count < 3; count += 1) await note(no, 100, often);
  expect(counts()).toEqual([
    [0, 2],
    [0, 1],
  ]);
});
