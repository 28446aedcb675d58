import { describe, expect, it } from 'vitest';
import { recordObservation, scheduledAt, expiresAt as toExpiry } from '../../../src/domain/order/trail.js';
import { inputOf, newTrail, reading, startedAt } from './trails.js';

const day = 86_400_000;
const pickup = '2031-05-09T08:00:00.000Z';
const trailWith = (details: Record<string, unknown>) =>
  recordObservation(newTrail(), reading('Reserved', 0, { details }), []);

describe('the pick-up time', () => {
  it('is unknown when nobody said it', () => {
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

  it.each(['soon', '', 7, null, {}])('is that of the caller when the service says %j', (value) => {
    expect(scheduledAt(inputOf({ scheduledAt: pickup }), trailWith({ scheduledAt: value }))).toBe(pickup);
  });

  // V8 reads "1" as the year 2001 and a time without offset in the time zone of the worker.
  it.each(['1', 'May 9'])('is that of the caller when the service says %j, which is no instant', (value) => {
    expect(scheduledAt(inputOf({ scheduledAt: pickup }), trailWith({ scheduledAt: value }))).toBe(pickup);
  });
});

describe('the end of following', () => {
  const expiresAt = (input: Parameters<typeof inputOf>[0], trail = newTrail()): string =>
    new Date(toExpiry(inputOf(input), trail, startedAt)).toISOString();

  it('is seven days after the start', () => {
    expect(expiresAt({})).toBe('2031-05-08T10:00:00.000Z');
  });

  it('is seven days after a pick-up that is later than the start', () => {
    expect(expiresAt({ scheduledAt: pickup })).toBe('2031-05-16T08:00:00.000Z');
    expect(expiresAt({ scheduledAt: '2031-04-01T08:00:00Z' })).toBe('2031-05-08T10:00:00.000Z');
  });

  it('moves with the pick-up time that the service says', () => {
    const trail = trailWith({ scheduledAt: '2031-06-01T00:00:00Z' });
    expect(expiresAt({ scheduledAt: pickup }, trail)).toBe('2031-06-08T00:00:00.000Z');
  });

  it('is after as long as the caller wants', () => {
    expect(expiresAt({ followForMs: 1_000 })).toBe('2031-05-01T10:00:01.000Z');
    expect(expiresAt({ followForMs: 2 * day, scheduledAt: pickup })).toBe('2031-05-11T08:00:00.000Z');
  });
});
