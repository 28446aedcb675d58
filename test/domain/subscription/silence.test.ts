import { describe, expect, it } from 'vitest';
import {
  type ChangeCounts,
  countsWithin,
  judgeSilence,
  readChangeCounts,
  resubscribeAt,
  silenceAttention,
  sumOf,
} from '../../../src/domain/subscription/silence.js';

const now = Date.parse('2031-05-01T10:00:00Z');
const hour = 3_600_000;
const iso = (epochMs: number): string => new Date(epochMs).toISOString();
const countedFrom = (at: number, read = 1, delivered = 0): ChangeCounts => ({ read, delivered, from: iso(at) });

describe('counts of changes', () => {
  const within = (from: number, registeredAt = now - 100 * hour, everyMs = hour) =>
    countsWithin([countedFrom(from)], { registeredAt: iso(registeredAt), everyMs, now }).length === 1;

  it('matter for 24 times the pace of the watch', () => {
    expect([within(now - 24 * hour), within(now - 24 * hour - 1)]).toEqual([true, false]);
    expect([within(now - 48_000, undefined, 2_000), within(now - 48_001, undefined, 2_000)]).toEqual([true, false]);
  });

  it('matter only if all of them are younger than the newest address, by a minute', () => {
    const registeredAt = now - hour;
    expect(within(registeredAt + 60_000, registeredAt)).toBe(true);
    expect(within(registeredAt + 59_999, registeredAt)).toBe(false);
  });

  it('matter sooner after a new address where the watch is faster than that', () => {
    const registeredAt = now - 10_000;
    expect(within(registeredAt + 1_000, registeredAt, 1_000)).toBe(true);
    expect(within(registeredAt + 999, registeredAt, 1_000)).toBe(false);
  });

  it('are added up', () => {
    expect(sumOf([countedFrom(now, 2, 1), countedFrom(now, 3, 4)])).toEqual({ read: 5, delivered: 5 });
    expect(sumOf([])).toEqual({ read: 0, delivered: 0 });
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
  const isSilent = (read: number, delivered: number, wasSilent = false) =>
    judgeSilence({ read, delivered }, 5, wasSilent);

  it('are silent when enough orders ended and no delivery announced one', () => {
    expect([isSilent(5, 0), isSilent(4, 0), isSilent(0, 0), isSilent(100, 1)]).toEqual([true, false, false, false]);
  });

  it('stay silent while few orders prove nothing, until the first one comes', () => {
    expect([isSilent(9, 0, true), isSilent(0, 0, true), isSilent(9, 1, true)]).toEqual([true, true, false]);
  });

  it('that are silent need a person, who learns how many orders prove it, and since when', () => {
    const attention = silenceAttention({ read: 7, delivered: 0 }, { everyMs: hour, minOrders: 5 }, iso(now));
    expect(attention).toMatchObject({ code: 'subscriptionSilent', since: iso(now) });
    expect(attention.message).toContain('7 orders ended unannounced within 1440 minutes');
  });
});

it('a silent subscription is created again at most once a day', () => {
  expect(resubscribeAt(null)).toBe(0);
  expect(resubscribeAt(iso(now))).toBe(now + 24 * hour);
});
