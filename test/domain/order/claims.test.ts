import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeliveryNotice } from '../../../src/domain/delivery.js';
import {
  atStart,
  parseRunLeft,
  type RunLeft,
  withDeliveries,
  withObservation,
} from '../../../src/domain/order/earlier-run.js';
import { rideStatuses } from '../../../src/domain/order/status.js';
import {
  describeTrail,
  type OrderTrail,
  recordObservation,
  type TimelineEntry,
  toOrderChange,
} from '../../../src/domain/order/trail.js';
import { after, claim, inputOf, newTrail, reading, trailOf } from './trails.js';

// Whoever knows the address of a webhook can send deliveries with any content about any order.

type Recorded = Pick<RunLeft, 'trail' | 'claims' | 'seenDeliveries'>;
/** What comes to a run: a read that finds a word, or a signal with deliveries that claim some. */
type Step = { read: string } | { told: (string | undefined)[] };

const opened = (): Recorded => ({ trail: newTrail(), claims: [], seenDeliveries: [] });

function take(before: Recorded, step: Step, second: number): Recorded {
  if ('told' in step) {
    const deliveries = step.told.map((status) => ({ ...claim(status, second), eventTime: after(second - 1) }));
    return withDeliveries(before, deliveries);
  }
  return { ...before, ...withObservation(before, reading(step.read, second), before.claims) };
}

const readOf = ({ timeline }: Pick<OrderTrail, 'timeline'>): TimelineEntry[] =>
  timeline.filter(({ source }) => source === 'read');
const claimedOf = ({ timeline }: Pick<OrderTrail, 'timeline'>): TimelineEntry[] =>
  timeline.filter(({ source }) => source === 'delivery');
const timesOf = ({ timeline }: OrderTrail): string[] => timeline.map(({ at }) => at);

/** Fields of the trail that a claim may change. The test checks each of the others against reads alone. */
const mayTouch = ['timeline', 'deliveries', 'pushed'] as const;

const readWord = fc.oneof(fc.constantFrom('Pending', 'Routing', 'Driving', 'Waiting', 'Confirmed'), fc.string());
const claimedWord = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...rideStatuses) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 100 }) },
  { weight: 1, arbitrary: fc.constant(undefined) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ read: readWord }) },
  { weight: 1, arbitrary: fc.record({ told: fc.array(claimedWord, { maxLength: 30 }) }) },
);
const steps = fc.oneof(fc.array(step, { maxLength: 40 }), fc.array(step, { minLength: 250, maxLength: 400 }));

describe('whatever deliveries claim', () => {
  it('the timeline has the reads as without them, at most ten claims, and all in the order of time', () => {
    fc.assert(
      fc.property(steps, (course) => {
        let both = opened();
        let alone = opened();
        for (const [second, one] of course.entries()) {
          both = take(both, one, second);
          if ('read' in one) alone = take(alone, one, second);
        }
        const reads = readOf(both.trail).map(({ eventTime: _, ...read }) => read);
        expect(reads).toEqual(alone.trail.timeline);
        expect(claimedOf(both.trail).length).toBeLessThanOrEqual(10);
        expect(both.trail.timeline.length).toBeLessThanOrEqual(200);
        expect(timesOf(both.trail)).toEqual(timesOf(both.trail).toSorted());
        for (const { status } of claimedOf(both.trail)) expect(rideStatuses).toContain(status);
        const { timeline: _t, deliveries: _d, pushed: _p, ...shown } = both.trail;
        const { timeline: _at, deliveries: _ad, pushed: _ap, ...expected } = alone.trail;
        expect(shown).toEqual(expected);
        expect(toOrderChange(both.trail)).toEqual(toOrderChange(alone.trail));
      }),
      { seed: 50, numRuns: 150 },
    );
  });

  const flood: DeliveryNotice[] = [
    ...Array.from({ length: 260 }, (_, index) => claim(`It is over ${index}`, 70)),
    ...rideStatuses.map((status) => claim(status, 70)),
  ];
  const long = trailOf(...Array.from({ length: 195 }, (_, index) => `Step ${index}`));
  const last = 195 * 60;

  it.each([
    ['the only read', trailOf('Routing'), reading('Routing', 80)],
    ['all of 195 reads', long, reading('Step 194', last)],
    ['all of 200 reads', trailOf(...Array.from({ length: 200 }, (_, at) => `Step ${at}`)), reading('Step 199', last)],
  ])('a flood of it leaves %s', (_, before, seen) => {
    const after = recordObservation(before, seen, flood);
    expect(readOf(after)).toEqual(before.timeline);
    expect(claimedOf(after)).toHaveLength(Math.min(10, 200 - before.timeline.length));
  });

  it('the Temporal UI shows the last reads, with at most ten claims', () => {
    const shown = describeTrail(recordObservation(long, reading('Step 194', last), flood));
    expect(shown.match(/\| read \|/g)?.length).toBeGreaterThanOrEqual(40);
    expect(shown).toContain('Step 194');
    expect(shown).not.toContain('It is over');
  });

  it('an unknown word counts as a delivery, leads to no entry, and does not come back later', () => {
    const told = withDeliveries({ trail: trailOf('Routing'), claims: [], seenDeliveries: [] }, [claim('Gone', 70)]);
    const { trail } = withObservation(told, reading('Routing', 80), told.claims);
    expect(trail).toMatchObject({ deliveries: { received: 1 }, timeline: [{ status: 'Routing' }] });
  });

  it('a claim stands at its time: before a later read, and never after the read that answers it', () => {
    const claims = [claim('Waiting', 50), claim('Confirmed', 999)];
    const { timeline } = recordObservation(trailOf('Pending', 'Routing'), reading('Driving', 70), claims);
    expect(timeline.map(({ status, at }) => [status, at])).toEqual([
      ['Pending', after(0)],
      ['Waiting', after(50)],
      ['Routing', after(60)],
      ['Confirmed', after(70)],
      ['Driving', after(70)],
    ]);
  });
});

describe('when the event of a delivery happened', () => {
  const told = (status: string, second: number, eventSecond: number): DeliveryNotice => ({
    ...claim(status, second),
    eventTime: after(eventSecond),
  });
  const timesIn = ({ timeline }: OrderTrail) => timeline.map(({ status, eventTime }) => [status, eventTime]);
  const routing = trailOf('Routing');

  it('stands beside the status that a read found after it, and beside one that no read saw', () => {
    const claims = [told('Confirmed', 61, 59), told('DRIVING', 65, 64), claim('Driving', 66)];
    expect(timesIn(recordObservation(routing, reading('Driving', 70), claims))).toEqual([
      ['Routing', undefined],
      ['Confirmed', after(59)],
      ['Driving', after(64)],
    ]);
  });

  it('is that of the newest event about the status, since an old delivery may be repeated', () => {
    const claims = [told('Driving', 65, 64), told('Driving', 66, 10), told('Waiting', 67, 66)];
    const [, , driving] = timesIn(recordObservation(routing, reading('Driving', 70), claims));
    expect(driving).toEqual(['Driving', after(64)]);
  });

  it('is added where a poll found the status first, and never replaced', () => {
    const polled = recordObservation(routing, reading('Driving', 70), []);
    const announced = recordObservation(polled, reading('Driving', 80), [told('Driving', 79, 69)]);
    const again = recordObservation(announced, reading('Driving', 90), [told('Driving', 89, 88)]);
    for (const trail of [announced, again]) expect(timesIn(trail).at(-1)).toEqual(['Driving', after(69)]);
    expect({ ...announced, timeline: [], reads: 0 }).toEqual({ ...polled, timeline: [], reads: 0 });
  });

  it('passes to the run that follows the order again', () => {
    const { trail } = parseRunLeft({
      trail: recordObservation(routing, reading('Driving', 70), [told('Driving', 65, 64)]),
      claims: [told('Waiting', 75, 74)],
      seenDeliveries: [],
      receivers: [],
    });
    expect(timesIn(trail).at(-1)).toEqual(['Driving', after(64)]);
  });
});

describe('what a delivery may touch', () => {
  const claims = rideStatuses.map((status) => claim(status, 70));
  const before: Recorded = { trail: trailOf('Routing'), claims: [], seenDeliveries: [] };

  it('is, before a read answers it, the counts alone', () => {
    const { trail } = withDeliveries(before, claims);
    expect(trail).toEqual({ ...before.trail, deliveries: { received: claims.length, duplicate: 0 } });
  });

  it.each<[field: keyof OrderTrail]>(
    (Object.keys(trailOf('Routing')) as (keyof OrderTrail)[])
      .filter((field) => !mayTouch.some((touched) => touched === field))
      .map((field) => [field]),
  )('is not %s', (field) => {
    for (const seen of [reading('Routing', 80), reading('Driving', 80), reading('Completed', 80)]) {
      const told = withDeliveries(before, claims);
      const { trail } = withObservation(told, seen, told.claims);
      expect(trail[field]).toEqual(withObservation(before, seen, []).trail[field]);
    }
  });

  it.each([
    ['that leads to no change slows no polls', ['Driving'], reading('Routing', 80), false],
    ['that announced the last change does', ['Driving'], reading('Driving', 80), true],
    ['that came before a change that a poll found does not', [], reading('Driving', 80), false],
  ])('the pace: one %s', (_, words, seen, pushed) => {
    const told = withDeliveries(
      before,
      words.map((word) => claim(word, 70)),
    );
    expect(withObservation(told, seen, told.claims).trail.pushed).toBe(pushed);
  });

  it('is the list of ids already seen: a flood of more than 1,000 lets an old one count again, as fresh, and no more', () => {
    const genuine = claim('Routing', 10);
    const first = withDeliveries(before, [genuine]);
    const flooded = withDeliveries(
      first,
      Array.from({ length: 1_000 }, () => claim('Driving', 20)),
    );
    const again = withDeliveries(flooded, [genuine]);
    expect(again.trail.deliveries).toEqual({ received: 1_002, duplicate: 0 });
    expect(again.claims).toHaveLength(1_000);
    expect(again.seenDeliveries).toHaveLength(1_000);
    const { trail } = withObservation(again, reading('Routing', 80), again.claims);
    expect(readOf(trail)).toEqual(before.trail.timeline);
  });
});

it('a run of 0.2.0 whose timeline deliveries had filled goes on with what was read, and ten known claims', () => {
  const trail = trailOf('Routing');
  const claimed = Array.from({ length: 199 }, (_, index): TimelineEntry => {
    const word = index % 2 ? `It is over ${index}` : 'Waiting';
    return { status: word, rawStatus: word, at: after(index), source: 'delivery' };
  });
  const timeline = [...claimed, ...trail.timeline];
  const left = { trail: { ...trail, timeline }, claims: [], seenDeliveries: [], receivers: [] };
  const opened = atStart(inputOf(), after(300), parseRunLeft(JSON.parse(JSON.stringify(left))));
  const known = claimed.filter(({ status }) => status === 'Waiting');
  expect(opened.trail.timeline).toEqual([...known.slice(-10), ...trail.timeline]);
});
