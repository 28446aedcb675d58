import { setTimeout as realSleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SubscriptionMemo } from '../../src/domain/subscription/subscription.js';
import { createSealer } from '../../src/sealing/sealer.js';
import { type AcceptedSubscriptions, createAcceptedSubscriptions } from '../../src/webhooks/accepted-subscriptions.js';
import { accepted, account, webhookKeys } from './ingress-stand.js';

const key = { account, eventType: 'status_changed' } as const;
const sealer = createSealer(webhookKeys);
const proof = expect.objectContaining({ secrets: [expect.anything()], isSecretLost: false });

let memo: SubscriptionMemo | null | Error;
let reads: number;
let readMs: number;
let decrypting = 0;
let unreadable: unknown[];
let subscriptions: AcceptedSubscriptions;

beforeEach(async () => {
  vi.useFakeTimers({ now: 1_000_000, toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  memo = { accepted: [await accepted(sealer)] };
  [reads, readMs, unreadable] = [0, 0, []];
  subscriptions = createAcceptedSubscriptions({
    async read() {
      reads += 1;
      const answer = memo;
      if (readMs > 0) await new Promise((resolve) => setTimeout(resolve, readMs));
      if (answer instanceof Error) throw answer;
      return answer;
    },
    async unseal(...sealed) {
      decrypting += 1;
      return await sealer.unseal(...sealed).finally(() => (decrypting -= 1));
    },
    onUnreadable: (_, error) => unreadable.push(error),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

const acceptance = (generation = 'g1', options = {}) => subscriptions.acceptanceOf(key, generation, options);
/** The answer, and how long it took on the clock of the test. */
async function timed<T>(answer: Promise<T>): Promise<{ answer: T; ms: number }> {
  const since = Date.now();
  let ms = -1;
  void answer.finally(() => {
    ms = Date.now() - since;
  });
  for (let step = 0; ms < 0 && step < 300; step += 1) {
    await flush();
    if (ms < 0) await vi.advanceTimersByTimeAsync(10);
  }
  return { answer: await answer, ms };
}
/** Decrypting takes real time, which the fake clock does not move. */
async function flush(): Promise<void> {
  do await realSleep(3);
  while (decrypting > 0);
  await realSleep(1);
}

describe('a generation in force', () => {
  it('is read once for many deliveries at the same time, and then known without a read', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => acceptance()));
    expect(new Set(answers).size).toBe(1);
    for (let count = 0; count < 100; count += 1) expect(await acceptance()).toEqual(proof);
    expect(reads).toBe(1);
  });

  it('is read again in the background after 10 s, and answered meanwhile', async () => {
    await acceptance();
    await vi.advanceTimersByTimeAsync(10_001);
    memo = { accepted: [] };
    expect(await acceptance()).toEqual(proof);
    await flush();
    expect(await timed(acceptance())).toMatchObject({ answer: 'ended' });
  });

  it('stays so while Temporal does not answer, however long', async () => {
    await acceptance();
    memo = new Error('down');
    for (let hour = 0; hour < 5; hour += 1) {
      await vi.advanceTimersByTimeAsync(3_600_000);
      expect(await acceptance()).toEqual(proof);
      await flush();
    }
  });

  it('ends when its grace is over, without another read', async () => {
    memo = { accepted: [await accepted(sealer, { until: new Date(Date.now() + 5_000).toISOString() })] };
    expect(await acceptance()).toEqual(proof);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await acceptance()).toBe('ended');
    expect(reads).toBe(1);
    expect(await acceptance('g1', { at: Date.now() - 1 })).toEqual(proof);
  });
});

describe('an unknown generation', () => {
  it('causes one read, which may know it', async () => {
    await acceptance();
    await vi.advanceTimersByTimeAsync(1_500);
    memo = { accepted: [await accepted(sealer, { generation: 'g2' })] };
    expect(await acceptance('g2')).toEqual(proof);
    expect(reads).toBe(2);
  });

  it('waits for a read that begins after it came, at most one a second', async () => {
    await acceptance();
    memo = { accepted: [await accepted(sealer, { generation: 'g2' })] };
    expect(await timed(acceptance('g2'))).toMatchObject({ answer: proof, ms: 1_000 });
    expect(reads).toBe(2);
  });

  it('is over when that read does not know it either; garbage does not hammer Temporal', async () => {
    await acceptance();
    await vi.advanceTimersByTimeAsync(2_000);
    const flood = Array.from({ length: 500 }, (_, index) => acceptance(`x${index}`));
    expect(new Set((await timed(Promise.all(flood))).answer)).toEqual(new Set(['ended']));
    for (let count = 0; count < 200; count += 1) expect(await acceptance('x499')).toBe('ended');
    expect(reads).toBe(3);
  });

  it('was never subscribed to when there is no such subscription', async () => {
    memo = null;
    expect(await acceptance()).toBe('neverSubscribed');
  });
});

describe('while Temporal does not answer', () => {
  it('nothing is known, and no delivery waits for a read that has just failed', async () => {
    memo = new Error('down');
    expect(await timed(acceptance())).toEqual({ answer: 'unknown', ms: 0 });
    for (let count = 0; count < 100; count += 1)
      expect(await timed(acceptance())).toEqual({ answer: 'unknown', ms: 0 });
    expect(reads).toBe(1);
  });

  it('the first wait is 2 s long when it does not answer, and later ones are none', async () => {
    readMs = 60_000;
    expect(await timed(acceptance())).toEqual({ answer: 'unknown', ms: 2_000 });
    expect(await timed(acceptance())).toEqual({ answer: 'unknown', ms: 0 });
    expect(reads).toBe(1);
  });

  it('is over by itself, within a second of its coming back', async () => {
    const good = memo;
    memo = new Error('down');
    await acceptance();
    memo = good;
    await vi.advanceTimersByTimeAsync(1_000);
    await acceptance(); // reads in the background
    await flush();
    expect(await acceptance()).toEqual(proof);
  });

  it('an answer newer than the last read is unknown', async () => {
    await acceptance();
    memo = new Error('down');
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await acceptance('g1', { readSince: Date.now() })).toBe('unknown');
    expect(await acceptance('g1', { readSince: Date.now() - 4_000 })).toEqual(proof);
  });
});

describe('secrets', () => {
  it('are opened once each, those of all generations', async () => {
    const lost = await accepted(sealer, { isSecretLost: true, secrets: [] });
    memo = { accepted: [await accepted(sealer, { generation: 'g2' }), lost] };
    expect(await acceptance('g2')).toEqual(proof);
    expect(await acceptance('g1')).toEqual({ secrets: [], isSecretLost: true, hasUnreadableSecret: false });
  });

  it('that our keys do not open are reported once, and do not hide the others', async () => {
    const good = await accepted(sealer);
    const foreign = await sealer.seal('x', 'subscription/other/status_changed');
    memo = { accepted: [{ ...good, secrets: [...good.secrets, foreign] }] };
    expect(await acceptance()).toEqual({ ...((await acceptance()) as object), hasUnreadableSecret: true });
    await vi.advanceTimersByTimeAsync(11_000);
    await acceptance();
    await flush();
    expect(reads).toBe(2);
    expect(unreadable).toMatchObject([{ code: 'SEALED_TEXT_INVALID' }]);
  });
});
