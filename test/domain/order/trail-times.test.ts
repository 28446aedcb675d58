import { describe, expect, it } from 'vitest';
import {
  type OrderObservation,
  recordObservation,
  scheduledAt,
  statusLagMs,
  expiresAt as toExpiry,
} from '../../../src/domain/order/trail.js';
import { after, claim, inputOf, newTrail, reading, startedAt } from './trails.js';

const day = 86_400_000;
const pickup = '2031-05-09T08:00:00.000Z';
const trailWith = (details: Record<string, unknown>) =>
  recordObservation(newTrail(), reading('Reserved', 0, { details }), []);

describe('the pick-up time', () => {
  it('is unknown when neither caller nor service said it', () => {
    expect(scheduledAt(inputOf(), newTrail())).toBeNull();
    expect(scheduledAt(inputOf(), trailWith({ supplier: { name: 'a' } }))).toBeNull();
  });

  it('is that of the caller until the service says one', () => {
    expect(scheduledAt(inputOf({ scheduledAt: pickup }), newTrail())).toBe(pickup);
  });

  it('is that of the service once it said one, in UTC', () => {
    const trail = trailWith({ scheduledAt: '2031-05-10T10:00:00+02:00' });
    expect(scheduledAt(inputOf({ scheduledAt: pickup }), trail)).toBe('2031-05-10T08:00:00.000Z');
  });

  // V8 reads "1" as the year 2001 and a time without offset in the time zone of the worker.
  it.each(['soon', '', 7, null, {}, '1', 'May 9'])('is that of the caller when the service says %j', (value) => {
    expect(scheduledAt(inputOf({ scheduledAt: pickup }), trailWith({ scheduledAt: value }))).toBe(pickup);
  });
});

describe('the end of following', () => {
  const expiresAt = (input: Parameters<typeof inputOf>[0], trail = newTrail()): string =>
    new Date(toExpiry(inputOf(input), trail, startedAt)).toISOString();

  it.each<[string, Parameters<typeof inputOf>[0], string]>([
    ['seven days after the start', {}, '2031-05-08T10:00:00.000Z'],
    ['seven days after a pick-up that is later', { scheduledAt: pickup }, '2031-05-16T08:00:00.000Z'],
    ['not before that for one that is earlier', { scheduledAt: '2031-04-01T08:00:00Z' }, '2031-05-08T10:00:00.000Z'],
    ['after as long as the caller wants', { followForMs: 1_000 }, '2031-05-01T10:00:01.000Z'],
    ['that long after a later pick-up', { followForMs: 2 * day, scheduledAt: pickup }, '2031-05-11T08:00:00.000Z'],
  ])('is %s', (_, input, at) => {
    expect(expiresAt(input)).toBe(at);
  });

  it('moves with the pick-up time that the service says', () => {
    const trail = trailWith({ scheduledAt: '2031-06-01T00:00:00Z' });
    expect(expiresAt({ scheduledAt: pickup }, trail)).toBe('2031-06-08T00:00:00.000Z');
  });
});

const claims = (...seconds: number[]) => ({ claims: seconds.map((at) => claim(undefined, at)) });
const driving = (more: { gapMs?: number } = {}): OrderObservation => ({ ...reading('Driving', 60), ...more });

it.each([
  ['since the first of its deliveries', claims(58, 50, 59), 12_000],
  ['a delivery from a clock that goes ahead', claims(63), 0],
  ['since the read of the run before it', { lastReadAt: after(20) }, 40_000],
  ['since the attempt before, when the run has not read it since', { seen: driving({ gapMs: 10_000 }) }, 10_000],
  ['since the later of both: the attempt', { seen: driving({ gapMs: 10_000 }), lastReadAt: after(20) }, 10_000],
  ['since the later of both: the read', { seen: driving({ gapMs: 50_000 }), lastReadAt: after(20) }, 40_000],
  ['a read by a clock that goes ahead', { lastReadAt: after(63) }, 0],
  ['no read came before', {}, undefined],
  ['trouble is no change', { seen: { kind: 'unknownOrder', reads: 1 } as const, lastReadAt: after(20) }, undefined],
])('%s', (_, more, lagMs) => {
  expect(statusLagMs({ seen: driving(), claims: [], lastReadAt: null, now: Date.parse(after(62)), ...more })).toBe(
    lagMs,
  );
});
