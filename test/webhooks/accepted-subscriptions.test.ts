import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { AcceptedGeneration, SubscriptionMemo } from '../../src/domain/subscription/subscription.js';
import { subscriptionId } from '../../src/domain/workflow-ids.js';
import { type AcceptedSubscriptions, createAcceptedSubscriptions } from '../../src/webhooks/accepted-subscriptions.js';
import { account } from './ingress-stand.js';

const key = { account, eventType: 'status_changed' } as const;
const good = `sealed for ${subscriptionId(key)}`;
const proof = expect.objectContaining({ secrets: [expect.anything()], isSecretLost: false });
/** A memo that accepts one generation. */
const accepting = (over: Partial<AcceptedGeneration> = {}): SubscriptionMemo => ({
  accepted: [{ generation: 'g1', until: null, secrets: [good], isSecretLost: false, ...over }],
});

let memo: SubscriptionMemo | null | Error;
let reads: number;
let readMs: number;
let unreadable: unknown[];
let subscriptions: AcceptedSubscriptions;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  memo = accepting();
  [reads, readMs, unreadable] = [0, 0, []];
  subscriptions = createAcceptedSubscriptions({
    async read() {
      reads += 1;
      const answer = memo;
      if (readMs > 0) await new Promise((resolve) => setTimeout(resolve, readMs));
      if (answer instanceof Error) throw answer;
      return answer;
    },
    async unseal(sealed, context) {
      if (sealed !== `sealed for ${context}`) throw new Error(`cannot open "${sealed}"`);
      return 'secret';
    },
    onUnreadable: (_, error) => unreadable.push(error),
  });
});
afterEach(() => void vi.useRealTimers());

const acceptance = (generation = 'g1', options = {}) => subscriptions.acceptanceOf(key, generation, options);
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
/** Lets what goes on in the background end, as far as it needs no time. */
const settle = () => pass(0);
/** The answer, and how long it took on the clock of the test. */
async function timed<T>(answer: Promise<T>): Promise<{ answer: T; ms: number }> {
  const since = Date.now();
  let ms = -1;
  void answer.finally(() => (ms = Date.now() - since));
  await settle();
  for (let step = 0; ms < 0 && step < 300; step += 1) await pass(10);
  return { answer: await answer, ms };
}

it('a generation in force is read once for many deliveries at the same time, and then known without a read', async () => {
  const answers = await Promise.all(Array.from({ length: 100 }, () => acceptance()));
  expect(answers).toEqual(answers.map(() => proof));
  for (let count = 0; count < 100; count += 1) expect(await acceptance()).toEqual(proof);
  expect(reads).toBe(1);
});

it('a generation that ends is refused 2 s later, at the first delivery after a quiet hour too', async () => {
  for (const [generation, quietMs] of Object.entries({ g1: 1_990, g2: 3_600_000 })) {
    memo = accepting({ generation });
    await pass(20_000);
    expect(await acceptance(generation)).toEqual(proof);
    memo = { accepted: [] };
    await pass(quietMs);
    expect(await acceptance(generation)).toBe('ended');
  }
});

it('a generation that deliveries use all the time ends within 2 s', async () => {
  readMs = 200;
  for (let passed = 0; passed < 5_300; passed += 100, await pass(100)) await timed(acceptance());
  memo = { accepted: [] };
  const endedAt = Date.now();
  while ((await timed(acceptance())).answer !== 'ended') await pass(100);
  expect(Date.now() - endedAt).toBeLessThan(1_500);
});

it('a generation in force stays so while Temporal does not answer, however long', async () => {
  await acceptance();
  memo = new Error('down');
  for (let hour = 0; hour < 5; hour += 1) {
    await pass(3_600_000);
    expect(await acceptance()).toEqual(proof);
    await settle();
  }
});

it('a generation ends when its grace is over', async () => {
  memo = accepting({ until: new Date(Date.now() + 5_000).toISOString() });
  expect(await acceptance()).toEqual(proof);
  await pass(5_000);
  expect(await timed(acceptance())).toEqual({ answer: 'ended', ms: 0 });
  expect(await acceptance('g1', { at: Date.now() - 1 })).toEqual(proof);
});

it('an unknown generation waits for a read that begins after its delivery came, at most one a second', async () => {
  await acceptance();
  await pass(10);
  memo = accepting({ generation: 'g2' });
  expect(await timed(acceptance('g2'))).toMatchObject({ answer: proof, ms: 990 });
  expect(reads).toBe(2);
  await pass(1_500);
  memo = accepting({ generation: 'g3' });
  expect(await timed(acceptance('g3'))).toMatchObject({ answer: proof, ms: 0 });
});

it('an unknown generation has ended when that read does not know it either, and garbage causes few reads', async () => {
  await acceptance();
  await pass(2_000);
  const flood = Array.from({ length: 500 }, (_, index) => acceptance(`x${index}`));
  expect(new Set((await timed(Promise.all(flood))).answer)).toEqual(new Set(['ended']));
  for (let count = 0; count < 200; count += 1) expect(await acceptance('x499')).toBe('ended');
  expect(reads).toBe(2);
});

it('a generation that is older than those of the memo has ended, without a wait, also after a restart', async () => {
  memo = accepting({ generation: 'g2' });
  await acceptance('g2');
  await pass(10);
  expect(await timed(acceptance('g1'))).toEqual({ answer: 'ended', ms: 0 });
  memo = { accepted: [] };
  await pass(2_000);
  expect(await timed(acceptance('g1'))).toEqual({ answer: 'ended', ms: 0 });
});

it('nothing is known while Temporal is down, and no delivery waits for a read that has just failed', async () => {
  memo = new Error('down');
  for (let count = 0; count < 100; count += 1) expect(await timed(acceptance())).toEqual({ answer: 'unknown', ms: 0 });
  expect(reads).toBe(1);
});

it('the first delivery waits a second when Temporal does not answer, and later ones do not wait', async () => {
  readMs = 60_000;
  expect(await timed(acceptance())).toEqual({ answer: 'unknown', ms: 1_000 });
  expect(await timed(acceptance())).toEqual({ answer: 'unknown', ms: 0 });
  expect(reads).toBe(1);
});

it('an answer that must be newer than the last read is unknown while Temporal is down', async () => {
  await acceptance();
  memo = new Error('down');
  await pass(3_000);
  expect(await acceptance('g1', { readWithinMs: 0 })).toBe('unknown');
  expect(await acceptance('g1', { readWithinMs: 4_000 })).toEqual(proof);
});

it('the secrets of all generations are opened', async () => {
  const lost = accepting({ isSecretLost: true, secrets: [] });
  memo = { accepted: [...accepting({ generation: 'g2' }).accepted, ...lost.accepted] };
  expect(await acceptance('g2')).toEqual(proof);
  expect(await acceptance('g1')).toEqual({
    secrets: [],
    isSecretLost: true,
    hasUnreadableSecret: false,
    verified: null,
  });
});

it('a secret that our keys do not open is reported once, and does not hide the others', async () => {
  memo = accepting({ secrets: [good, 'sealed for another'] });
  expect(await acceptance()).toMatchObject({
    secrets: [expect.anything()],
    isSecretLost: false,
    hasUnreadableSecret: true,
  });
  await pass(11_000);
  await acceptance();
  await settle();
  expect(reads).toBe(2);
  expect(unreadable).toEqual([new Error('cannot open "sealed for another"')]);
});
