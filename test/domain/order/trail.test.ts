import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Attention, Concern } from '../../../src/domain/attention.js';
import {
  expiresAt,
  isChange,
  openTrail,
  recordObservation,
  scheduledAt,
  seenBy,
  statusLagMs,
  toOrderChange,
  toOrderEvent,
} from '../../../src/domain/order/trail.js';
import { forAny } from '../../support/for-any.js';
import { after, claim, inputOf, newTrail, reading, startedAt, trailOf } from './trails.js';

const attention: Attention = { code: 'upstreamUnavailable', message: 'no answer', since: after(5) };
const trouble = { kind: 'trouble', attention, notBefore: after(65), reads: 7 } as const;

describe('a new trail', () => {
  it('says that nothing was read yet', () => {
    expect(openTrail(inputOf({ reference: 'booking 9' }), startedAt)).toEqual({
      account: 'partner',
      orderId: '4711',
      reference: 'booking 9',
      status: null,
      rawStatus: null,
      since: startedAt,
      terminal: false,
      outcome: null,
      timeline: [],
      deliveries: { received: 0, duplicate: 0 },
      reads: 0,
      pushed: false,
      attention: null,
      details: null,
    });
  });

  it('has no field for a reference that was not given', () => {
    expect('reference' in newTrail()).toBe(false);
    expect('reference' in toOrderChange(newTrail())).toBe(false);
  });
});

describe('a read that finds a new status', () => {
  it('moves the status and adds to the timeline', () => {
    const trail = recordObservation(trailOf('Pending'), reading('routing', 90), []);
    expect(trail).toMatchObject({ status: 'Routing', rawStatus: 'routing', since: after(90), terminal: false });
    expect(trail.timeline).toEqual([
      { status: 'Pending', rawStatus: 'Pending', at: after(0), source: 'read' },
      { status: 'Routing', rawStatus: 'routing', at: after(90), source: 'read' },
    ]);
  });

  it('keeps a word it does not know as it came, and goes on', () => {
    const trail = recordObservation(trailOf('Pending'), reading('On  Hold!'), []);
    expect(trail).toMatchObject({ status: 'On  Hold!', rawStatus: 'On  Hold!', terminal: false, outcome: null });
    expect(recordObservation(trail, reading('Driving'), []).status).toBe('Driving');
  });

  it('records a step backwards and a return to an earlier status', () => {
    const words = trailOf('Confirmed', 'Routing', 'Confirmed').timeline.map(({ status }) => status);
    expect(words).toEqual(['Confirmed', 'Routing', 'Confirmed']);
  });

  it.each([
    ['COMPLETED', 'completed'],
    ['canceled', 'cancelled'],
    ['Rejected', 'rejected'],
  ])('ends with %s in the outcome %s', (word, outcome) => {
    const trail = recordObservation(trailOf('Routing'), reading(word), []);
    expect(trail).toMatchObject({ terminal: true, outcome, rawStatus: word });
  });

  // An operator may add the word to `statuses.terminal` of the profile while the order shows it.
  it.each(['Driving', 'Archived'])('completes after %s when only the contract profile calls it an end', (before) => {
    const trail = recordObservation(trailOf(before), reading('Archived', 60, { terminal: true }), []);
    expect(trail).toMatchObject({ status: 'Archived', terminal: true, outcome: 'completed' });
  });

  it('keeps the last 200 entries of the timeline', () => {
    const { timeline } = trailOf(...Array.from({ length: 450 }, (_, index) => `Step ${index}`));
    expect(timeline).toHaveLength(200);
    expect(timeline[0]?.status).toBe('Step 250');
    expect(timeline[199]).toMatchObject({ status: 'Step 449', at: after(449 * 60) });
  });

  it('never changes the trail it was given, and gives plain JSON', () => {
    const words = fc.constantFrom('Pending', 'pending', 'Driving', 'On hold', 'Completed');
    forAny(fc.array(words), words, fc.array(fc.option(words, { nil: undefined })), (before, word, said) => {
      const trail = trailOf(...before);
      const copy = structuredClone(trail);
      const claims = said.map((status) => claim(status));
      const next = recordObservation(trail, reading(word), claims);
      expect(trail).toEqual(copy);
      expect(JSON.parse(JSON.stringify(next))).toEqual(next);
    });
  });
});

describe('a read that finds the same status', () => {
  it('moves nothing, however it is spelt', () => {
    const trail = trailOf('CareReq');
    for (const word of ['CareReq', 'care_req', 'CARE REQ']) {
      expect(recordObservation(trail, reading(word, 500), [])).toEqual({ ...trail, reads: trail.reads + 1 });
    }
  });

  it('drops the driver and the car with the end of the order, whether or not it brings details', () => {
    const details = { requestedAt: startedAt, driver: { name: 'N' }, vehicle: { model: 'M' } };
    const driving = recordObservation(trailOf('Waiting'), reading('Driving', 1, { details }), []);
    expect(driving.details).toEqual(details);
    for (const word of ['Completed', 'Cancelled', 'Rejected']) {
      for (const last of [details, null]) {
        const ended = recordObservation(driving, reading(word, 2, { details: last }), []);
        expect(ended.details).toEqual({ requestedAt: startedAt });
      }
    }
    const nameless = { ...driving, details: { driver: { name: 'N' } } };
    expect(recordObservation(nameless, reading('Completed', 2), []).details).toBeNull();
    expect(recordObservation(driving, reading('Driving', 2, { terminal: true }), []).details).toEqual({
      requestedAt: startedAt,
    });
  });

  it('takes newer details, and keeps the old ones where it brings none', () => {
    const first = recordObservation(trailOf('Pending'), reading('Pending', 1, { details: { supplier: 'a' } }), []);
    expect(first.details).toEqual({ supplier: 'a' });
    const second = recordObservation(first, reading('Pending', 2, { details: { supplier: 'b' } }), []);
    expect(second.details).toEqual({ supplier: 'b' });
    expect(recordObservation(second, reading('Driving', 3), []).details).toEqual({ supplier: 'b' });
  });
});

it.each(['Completed', 'Driving'])('the end of an order is final, even if deliveries and a read of %s come', (word) => {
  const ended = trailOf('Driving', 'Completed');
  const trail = recordObservation(ended, reading(word, 99), [claim('Driving'), claim('Cancelled')]);
  expect(trail).toMatchObject({ status: 'Completed', terminal: true, outcome: 'completed', since: ended.since });
});

describe('the claims of deliveries', () => {
  it('do not move the status; the timeline holds them before the read, if no read found the same', () => {
    const claims = [claim('confirmed', 61), claim('Waiting', 62)];
    const unmoved = recordObservation(trailOf('Routing'), reading('Routing', 65), claims);
    expect(unmoved).toMatchObject({ status: 'Routing', since: after(0) });
    const { timeline } = recordObservation(trailOf('Routing'), reading('Driving', 65), claims);
    expect(timeline.slice(1)).toEqual([
      { status: 'Confirmed', rawStatus: 'confirmed', at: after(61), source: 'delivery' },
      { status: 'Waiting', rawStatus: 'Waiting', at: after(62), source: 'delivery' },
      { status: 'Driving', rawStatus: 'Driving', at: after(65), source: 'read' },
    ]);
  });

  it('are in the timeline once', () => {
    const claims = [claim('Waiting'), claim('waiting'), claim('WAITING')];
    const once = recordObservation(trailOf('Routing'), reading('Routing'), claims);
    expect(once.timeline.map(({ status }) => status)).toEqual(['Routing', 'Waiting']);
    expect(recordObservation(once, reading('Routing'), [claim('Waiting')]).timeline).toEqual(once.timeline);
  });

  it('that a read confirms, now or before, are not in the timeline', () => {
    const claims = [claim('routing'), claim('DRIVING'), claim()];
    const { timeline } = recordObservation(trailOf('Routing'), reading('Driving'), claims);
    expect(timeline.map(({ source }) => source)).toEqual(['read', 'read']);
  });

  it('count towards the 200 entries', () => {
    const claims = Array.from({ length: 300 }, (_, index) => claim(`Step ${index}`));
    const { timeline } = recordObservation(trailOf('Routing'), reading('Driving'), claims);
    expect(timeline).toHaveLength(200);
    expect(timeline[199]?.status).toBe('Driving');
    expect(timeline[198]?.status).toBe('Step 299');
  });

  it('add nothing while the order cannot be read', () => {
    expect(recordObservation(trailOf('Routing'), trouble, [claim('Driving')]).timeline).toHaveLength(1);
  });
});

describe('whether changes are announced', () => {
  const pushed = { ...trailOf('Routing'), pushed: true };

  it.each([
    ['is still believed after a change that a delivery names', pushed, 'Confirmed', [claim('Confirmed')], true],
    ['is still believed after a change that a delivery without a status led to', pushed, 'Confirmed', [claim()], true],
    ['is still believed after a poll that finds nothing new', pushed, 'ROUTING', [], true],
    ['is no longer believed once a poll finds a change that no delivery announced', pushed, 'Confirmed', [], false],
    ['does not begin with a read', trailOf('Routing'), 'Confirmed', [], false],
  ])('%s', (_, trail, word, claims, isPushed) => {
    expect(recordObservation(trail, reading(word), claims).pushed).toBe(isPushed);
  });
});

const late: Concern = { code: 'latePickup', message: 'The pick-up was due.', since: after(60) };

describe('what is wrong with a ride', () => {
  const found = (word: string, concern: Concern | null, seconds = 90) => reading(word, seconds, { concern });
  const shown = recordObservation(trailOf('Routing'), found('Routing', late), []);

  it('is attention together with the status that a read finds', () => {
    const care: Concern = { ...late, code: 'customerCare' };
    const trail = recordObservation(trailOf('Routing'), found('CareReq', care), []);
    expect(trail).toMatchObject({ status: 'CareReq', attention: care });
  });

  it('has begun with the first read that found it', () => {
    const again = recordObservation(
      shown,
      found('Confirmed', { ...late, message: 'It is late.', since: after(95) }),
      [],
    );
    expect(again).toMatchObject({ status: 'Confirmed', attention: { ...late, message: 'It is late.' } });
    const stuck: Concern = { ...late, code: 'stuckInStatus', since: after(95) };
    expect(recordObservation(shown, found('Routing', stuck), []).attention).toEqual(stuck);
  });

  it.each([
    ['finds it no longer', 'Routing', null],
    ['finds it no longer with another status', 'Confirmed', null],
    ['finds the end of the order', 'Completed', late],
  ])('is cleared by a read that %s', (_, word, concern) => {
    expect(recordObservation(shown, found(word, concern), []).attention).toBeNull();
  });

  it('gives way to trouble, and comes back with the next read that finds it', () => {
    const troubled = recordObservation(shown, trouble, []);
    expect(troubled.attention).toEqual(attention);
    expect(recordObservation(troubled, found('Routing', late), []).attention).toEqual(late);
  });
});

describe('the clock of a worker that is ahead of that of the run', () => {
  it('moves neither the status nor the attention into the future of the run', () => {
    const care: Concern = { ...late, code: 'customerCare', since: after(90) };
    const seen = seenBy(after(30), reading('CareReq', 90, { concern: care }));
    expect(recordObservation(newTrail(), seen, [])).toMatchObject({
      since: after(30),
      attention: { ...care, since: after(30) },
    });
    expect(seenBy(after(3), trouble)).toEqual({ ...trouble, attention: { ...attention, since: after(3) } });
  });

  it('leaves what is earlier as it was', () => {
    for (const seen of [trouble, reading('Routing', 90), reading('Routing', 90, { concern: late })])
      expect(seenBy(after(90), seen)).toEqual(seen);
  });
});

it('a receiver is told of attention about the ride that comes or goes, and of no other', () => {
  const calm = toOrderChange(trailOf('Routing'));
  const withAttention = (shown: Attention | null) => toOrderChange({ ...trailOf('Routing'), attention: shown });
  expect(withAttention(late).attention).toEqual(late);
  expect(withAttention(attention)).toEqual(calm);
  expect(isChange(withAttention(late), calm)).toBe(true);
  expect(isChange(calm, withAttention(late))).toBe(true);
  expect(isChange(withAttention({ ...late, message: '' }), withAttention(late))).toBe(false);
  const { attention: _, ...ofEarlierRelease } = calm;
  expect(isChange(calm, ofEarlierRelease)).toBe(false);
});

it('an event for a URL names what has changed since the notice before', () => {
  const calm = toOrderChange(trailOf('Routing'));
  const worried = toOrderChange({ ...trailOf('Routing'), attention: late });
  const driving = toOrderChange(trailOf('Driving'));
  const ended = toOrderChange(trailOf('Completed'));
  const types = [
    [calm, null],
    [worried, calm],
    [calm, worried],
    [driving, worried],
    [worried, driving],
    [ended, driving],
  ] as const;
  expect(types.map(([change, last]) => toOrderEvent(change, last).type)).toEqual([
    ...['order.changed', 'attention.raised', 'attention.cleared', 'order.changed', 'order.changed', 'order.ended'],
  ]);
  expect(toOrderEvent(worried, calm).data).toEqual(worried);
});

describe('attention', () => {
  it('is set by trouble, which leaves the status as it was', () => {
    const before = trailOf('Routing');
    expect(recordObservation(before, trouble, [])).toEqual({ ...before, attention, reads: before.reads + 7 });
  });

  const shown = recordObservation(trailOf('Routing'), trouble, []);

  it('gives way to other trouble', () => {
    const other: Attention = { code: 'forbidden', message: 'no', since: after(70) };
    expect(recordObservation(shown, { ...trouble, attention: other }, []).attention).toEqual(other);
  });

  it.each(['Routing', 'Driving'])('is cleared by a read, whether or not that finds something new: %s', (word) => {
    expect(recordObservation(shown, reading(word), []).attention).toBeNull();
  });

  it('stays while the order is not known', () => {
    const trail = recordObservation(shown, { kind: 'unknownOrder', reads: 2 }, []);
    expect(trail).toEqual({ ...shown, reads: shown.reads + 2 });
  });
});

it('a receiver gets the part of the trail that says the status of the order', () => {
  expect(toOrderChange({ ...trailOf('Driving', 'COMPLETED'), reference: 'booking 9' })).toEqual({
    account: 'partner',
    orderId: '4711',
    reference: 'booking 9',
    status: 'Completed',
    rawStatus: 'COMPLETED',
    since: after(60),
    terminal: true,
    outcome: 'completed',
    attention: null,
  });
});

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
  const weekAfterStart = '2031-05-08T10:00:00.000Z';
  const endOf = (input: Parameters<typeof inputOf>[0], trail = newTrail()): string =>
    new Date(expiresAt(inputOf(input), trail, startedAt)).toISOString();

  it.each<[string, Parameters<typeof inputOf>[0], string]>([
    ['is seven days after the start', {}, weekAfterStart],
    ['is seven days after a later pick-up', { scheduledAt: pickup }, '2031-05-16T08:00:00.000Z'],
    ['is not earlier for an earlier pick-up', { scheduledAt: '2031-04-01T08:00:00Z' }, weekAfterStart],
    ['comes after as long as the caller wants', { followForMs: 1_000 }, '2031-05-01T10:00:01.000Z'],
    ['is that long after a later pick-up', { followForMs: 2 * day, scheduledAt: pickup }, '2031-05-11T08:00:00.000Z'],
  ])('%s', (_, input, at) => {
    expect(endOf(input)).toBe(at);
  });

  it('moves with the pick-up time that the service says', () => {
    const trail = trailWith({ scheduledAt: '2031-06-01T00:00:00Z' });
    expect(endOf({ scheduledAt: pickup }, trail)).toBe('2031-06-08T00:00:00.000Z');
  });
});

describe('how late a read found a new status', () => {
  const claims = (...seconds: number[]) => seconds.map((at) => claim(undefined, at));

  it.each([
    ['counts from the first of its deliveries', claims(58, 50, 59), after(20), 12_000],
    ['is nothing after a delivery from a clock that goes ahead', claims(63), null, 0],
    ['counts from the last look', [], after(20), 42_000],
    ['is nothing after a look by a clock that goes ahead', [], after(63), 0],
    ['is unknown without an earlier look', [], null, undefined],
  ] as const)('%s', (_, named, unchangedAt, lagMs) => {
    expect(statusLagMs(named, unchangedAt, Date.parse(after(62)))).toBe(lagMs);
  });
});
