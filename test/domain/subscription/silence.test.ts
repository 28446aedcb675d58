import { describe, expect, it } from 'vitest';
import {
  type ChangeCounts,
  isResubscriptionDue,
  openGeneration,
  openSubscription,
  readChangeCounts,
  type SubscriptionState,
  withCounts,
  withSubscriber,
} from '../../../src/domain/subscription/state.js';
import { parseSubscriptionInput } from '../../../src/domain/subscription/subscription.js';

const now = Date.parse('2031-05-01T10:00:00Z');
const hour = 3_600_000;
const iso = (epochMs: number): string => new Date(epochMs).toISOString();
const countedFrom = (at: number, read = 1, delivered = 0): ChangeCounts => ({ read, delivered, from: iso(at) });
const input = parseSubscriptionInput({
  ...{ account: 'business', eventType: 'status_changed', publicUrl: 'https://rides.example' },
});

/** A subscription since this instant. */
function subscribed(registeredAt = now - 100 * hour): SubscriptionState {
  const registration = { subscriber: { id: 'sub', createdAt: null, updatedAt: null }, sealedSecret: 'sealed' };
  const opened = openGeneration(openSubscription(input), registeredAt);
  return withSubscriber(opened, registration, { graceMs: hour, now: registeredAt });
}

describe('counts of changes', () => {
  const within = (from: number, registeredAt?: number, everyMs?: number) =>
    withCounts(
      subscribed(registeredAt),
      { ...input, ...(everyMs && { silence: { everyMs } }) },
      [countedFrom(from)],
      now,
    ).counts.length === 1;

  it('matter for 24 times the pace of the watch', () => {
    expect([within(now - 24 * hour), within(now - 24 * hour - 1)]).toEqual([true, false]);
    expect([within(now - 48_000, undefined, 2_000), within(now - 48_001, undefined, 2_000)]).toEqual([true, false]);
  });

  it('matter only if all of them are younger than the newest address, by a minute or the pace of the watch', () => {
    expect([within(now - hour + 60_000, now - hour), within(now - hour + 59_999, now - hour)]).toEqual([true, false]);
    const registeredAt = now - 10_000;
    expect([
      within(registeredAt + 1_000, registeredAt, 1_000),
      within(registeredAt + 999, registeredAt, 1_000),
    ]).toEqual([true, false]);
  });

  it('are read from what any program may send, or dropped', () => {
    const counts = countedFrom(now, 2, 1);
    expect(readChangeCounts(JSON.parse(JSON.stringify(counts)))).toEqual(counts);
    for (const more of [{ read: 0.5 }, { delivered: null }, { from: 'today' }, { read: '2' }])
      expect(readChangeCounts({ ...counts, ...more }), JSON.stringify(more)).toBeNull();
    for (const other of [undefined, null, 'counts', [], { read: 1 }]) expect(readChangeCounts(other)).toBeNull();
  });
});

describe('deliveries', () => {
  const silent = { code: 'subscriptionSilent', message: 'before', since: iso(now - hour) } as const;
  const judged = (counts: ChangeCounts[], before: typeof silent | null = null) =>
    withCounts({ ...subscribed(), silence: before }, input, counts, now).silence;
  const isSilent = (read: number, delivered: number, before?: typeof silent) =>
    judged([countedFrom(now, read, delivered)], before) !== null;

  it('are silent when enough orders ended and no delivery announced one', () => {
    expect([isSilent(5, 0), isSilent(4, 0), isSilent(0, 0), isSilent(100, 1)]).toEqual([true, false, false, false]);
    expect(judged([countedFrom(now, 2), countedFrom(now, 3)]), 'several counts are added up').toMatchObject({
      ...{ code: 'subscriptionSilent', since: iso(now) },
      message: expect.stringContaining('5 orders ended unannounced within 1440 minutes. Orders are read on, faster.'),
    });
    expect(judged([countedFrom(now, 5), countedFrom(now, 0, 1)]), 'one delivery is enough').toBeNull();
  });

  it('are not judged without an address in force, without counts, or where they tell no status', () => {
    const counts = [countedFrom(now, 9)];
    const open = openSubscription(input);
    expect(withCounts(open, input, counts, now)).toBe(open);
    for (const [state, counted] of [
      [{ ...subscribed(), eventType: 'business_report' } as const, counts],
      [subscribed(), []],
    ] as const)
      expect(withCounts(state, input, counted, now)).toBe(state);
  });

  it('stay silent while few orders prove nothing, until the first one comes', () => {
    expect([isSilent(9, 0, silent), isSilent(0, 0, silent), isSilent(9, 1, silent)]).toEqual([true, true, false]);
    expect(judged([countedFrom(now)], silent)).toMatchObject({ since: silent.since });
  });

  it('that are silent lead to a new subscription at most once a day, where the caller wants that', () => {
    const isDue = (resubscribedAt: string | null, resubscribe = true) =>
      isResubscriptionDue({ ...subscribed(), silence: silent, resubscribedAt }, { ...input, resubscribe }, now);
    expect([isDue(null), isDue(iso(now - 24 * hour)), isDue(iso(now - 24 * hour + 1))]).toEqual([true, true, false]);
    expect(isDue(null, false)).toBe(false);
    expect(isResubscriptionDue({ ...subscribed(), silence: null }, { ...input, resubscribe: true }, now)).toBe(false);
  });
});
