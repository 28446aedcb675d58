import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Attention, Concern } from '../../../src/domain/attention.js';
import type { DeliveryNotice } from '../../../src/domain/delivery.js';
import {
  expiresAt,
  isChange,
  type OrderObservation,
  type OrderTrail,
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
const late: Concern = { code: 'latePickup', message: 'The pick-up was due.', since: after(60) };
const wordsOf = ({ timeline }: OrderTrail): string[] => timeline.map(({ status, source }) => `${status} ${source}`);

it('a new trail says that nothing was read yet, and has no field for a reference that was not given', () => {
  const { account, orderId } = inputOf();
  const nothing = { status: null, rawStatus: null, since: startedAt, terminal: false, outcome: null, attention: null };
  const empty = { timeline: [], deliveries: { received: 0, duplicate: 0 }, reads: 0, pushed: false, details: null };
  const expected = { account, orderId, reference: 'booking 9', ...nothing, ...empty };
  expect(openTrail(inputOf({ reference: 'booking 9' }), startedAt)).toEqual(expected);
  for (const one of [newTrail(), toOrderChange(newTrail())]) expect('reference' in one).toBe(false);
});

const routing = trailOf('Routing');
const pushed = { ...routing, pushed: true };
const ended = trailOf('Driving', 'Completed');
const supplied = recordObservation(routing, reading('Routing', 1, { details: { supplier: 'a' } }), []);
const isLate = recordObservation(routing, reading('Routing', 90, { concern: late }), []);
const troubled = recordObservation(routing, trouble, []);
const care: Concern = { ...late, code: 'customerCare' };
const stuck: Concern = { ...late, code: 'stuckInStatus', since: after(95) };
const other: Attention = { code: 'forbidden', message: 'no', since: after(70) };
const laterStill = { ...late, message: 'It is late.', since: after(95) };

describe('a look at an order', () => {
  it.each<[string, OrderTrail, OrderObservation, object, DeliveryNotice[]?]>([
    [
      'moves the status to a new one',
      routing,
      reading('driving', 90),
      { status: 'Driving', rawStatus: 'driving', since: after(90), terminal: false },
    ],
    [
      'keeps a word it does not know as it came',
      routing,
      reading('On  Hold!'),
      { status: 'On  Hold!', rawStatus: 'On  Hold!', terminal: false, outcome: null },
    ],
    ...[
      ['COMPLETED', 'completed'],
      ['canceled', 'cancelled'],
      ['Rejected', 'rejected'],
    ].map(([rawStatus = '', outcome]): [string, OrderTrail, OrderObservation, object] => [
      `ends it with ${rawStatus}`,
      routing,
      reading(rawStatus),
      { terminal: true, outcome, rawStatus },
    ]),
    // An operator may add the word to `statuses.terminal` of the profile while the order shows it.
    ...['Driving', 'Archived'].map((word): [string, OrderTrail, OrderObservation, object] => [
      `completes it after ${word} when only the contract profile calls it an end`,
      trailOf(word),
      reading('Archived', 60, { terminal: true }),
      { status: 'Archived', terminal: true, outcome: 'completed' },
    ]),
    ...['CareReq', 'care_req', 'CARE REQ'].map((word): [string, OrderTrail, OrderObservation, object] => [
      `moves nothing with the same status, spelt ${word}`,
      trailOf('CareReq'),
      reading(word, 500),
      { ...trailOf('CareReq'), reads: 2 },
    ]),
    ...['Completed', 'Driving'].map((word): [string, OrderTrail, OrderObservation, object, DeliveryNotice[]] => [
      `never moves an order that has ended, whatever deliveries and a read of ${word} say`,
      ended,
      reading(word, 99),
      { status: 'Completed', terminal: true, outcome: 'completed', since: ended.since },
      [claim('Driving'), claim('Cancelled')],
    ]),
    ['takes details', supplied, reading('Routing', 2, { details: { supplier: 'b' } }), { details: { supplier: 'b' } }],
    ['keeps the details where it brings none', supplied, reading('Driving', 2), { details: { supplier: 'a' } }],
    [
      'still believes in deliveries after a change that one names',
      pushed,
      reading('Confirmed'),
      { pushed: true },
      [claim('Confirmed')],
    ],
    ['still believes in them after a delivery without status', pushed, reading('Driving'), { pushed: true }, [claim()]],
    ['still believes in them where it finds nothing new', pushed, reading('ROUTING'), { pushed: true }],
    ['believes in them no longer after an unannounced change', pushed, reading('Confirmed'), { pushed: false }],
    ['does not begin to believe in them', routing, reading('Confirmed'), { pushed: false }],
    [
      'shows what is wrong with the ride together with the status',
      routing,
      reading('CareReq', 90, { concern: care }),
      { status: 'CareReq', attention: care },
    ],
    [
      'shows it since the first look that found it',
      isLate,
      reading('Confirmed', 95, { concern: laterStill }),
      { status: 'Confirmed', attention: { ...laterStill, since: late.since } },
    ],
    ['shows another concern', isLate, reading('Routing', 95, { concern: stuck }), { attention: stuck }],
    ['clears it where it finds it no longer', isLate, reading('Routing'), { attention: null }],
    ['clears it with another status', isLate, reading('Confirmed'), { attention: null }],
    ['clears it with the end', isLate, reading('Completed', 90, { concern: late }), { attention: null }],
    ['shows trouble instead of it', isLate, trouble, { attention }],
    ['shows it again after trouble', troubled, reading('Routing', 90, { concern: late }), { attention: late }],
    ['shows trouble and leaves the status', routing, trouble, { ...routing, attention, reads: 8 }],
    ['shows other trouble', troubled, { ...trouble, attention: other }, { attention: other }],
    ['clears trouble', troubled, reading('Routing'), { attention: null }],
    ['clears trouble with a change', troubled, reading('Driving'), { attention: null }],
    [
      'leaves all as it is while the order is not known',
      troubled,
      { kind: 'unknownOrder', reads: 2 },
      { ...troubled, reads: 10 },
    ],
  ])('%s', (_, before, seen, expected, claims = []) => {
    expect(recordObservation(before, seen, claims)).toMatchObject(expected);
  });

  it('adds each change to the timeline, a return to an earlier status too, and keeps the last 200', () => {
    expect(trailOf('Pending', 'routing').timeline).toEqual([
      { status: 'Pending', rawStatus: 'Pending', at: after(0), source: 'read' },
      { status: 'Routing', rawStatus: 'routing', at: after(60), source: 'read' },
    ]);
    const back = ['Confirmed read', 'Routing read', 'Confirmed read'];
    expect(wordsOf(trailOf('Confirmed', 'Routing', 'Confirmed'))).toEqual(back);
    const { timeline } = trailOf(...Array.from({ length: 450 }, (_, index) => `Step ${index}`));
    expect([timeline.length, timeline[0]?.status, timeline[199]?.at]).toEqual([200, 'Step 250', after(449 * 60)]);
  });

  it('drops the driver and the car with the end of the order, whether or not it brings details', () => {
    const details = { requestedAt: startedAt, driver: { name: 'N' }, vehicle: { model: 'M' } };
    const driving = recordObservation(trailOf('Waiting'), reading('Driving', 1, { details }), []);
    expect(driving.details).toEqual(details);
    const ends = ['Completed', 'Cancelled', 'Rejected'].flatMap((word) =>
      [details, null].map((last) => reading(word, 2, { details: last })),
    );
    for (const end of [...ends, reading('Driving', 2, { terminal: true })])
      expect(recordObservation(driving, end, []).details).toEqual({ requestedAt: startedAt });
    const nameless = { ...driving, details: { driver: { name: 'N' } } };
    expect(recordObservation(nameless, reading('Completed', 2), []).details).toBeNull();
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

describe('the claims of deliveries', () => {
  it('do not move the status; the timeline holds them before the read, if no read found the same', () => {
    const claims = [claim('confirmed', 61), claim('Waiting', 62)];
    const unmoved = recordObservation(routing, reading('Routing', 65), claims);
    expect(unmoved).toMatchObject({ status: 'Routing', since: after(0) });
    expect(recordObservation(routing, reading('Driving', 65), claims).timeline.slice(1)).toEqual([
      { status: 'Confirmed', rawStatus: 'confirmed', at: after(61), source: 'delivery' },
      { status: 'Waiting', rawStatus: 'Waiting', at: after(62), source: 'delivery' },
      { status: 'Driving', rawStatus: 'Driving', at: after(65), source: 'read' },
    ]);
  });

  it.each([
    ['are listed once', reading('Routing'), ['Waiting', 'waiting', 'WAITING'], ['Routing read', 'Waiting delivery']],
    [
      'that a read confirms are not',
      reading('Driving'),
      ['routing', 'DRIVING', undefined],
      ['Routing read', 'Driving read'],
    ],
    ['are not while the order cannot be read', trouble, ['Driving'], ['Routing read']],
  ])('%s', (_, seen, claimed, words) => {
    const claims = claimed.map((status) => claim(status));
    const trail = recordObservation(routing, seen, claims);
    expect(wordsOf(trail)).toEqual(words);
    expect(wordsOf(recordObservation(trail, seen, claims)), 'they come again').toEqual(words);
  });
});

it('the clock of a worker that is ahead moves neither status nor attention into the future of the run', () => {
  const seen = reading('CareReq', 90, { concern: { ...care, since: after(90) } });
  const shown = { since: after(30), attention: { ...care, since: after(30) } };
  expect(recordObservation(newTrail(), seenBy(after(30), seen), [])).toMatchObject(shown);
  expect(seenBy(after(3), trouble)).toEqual({ ...trouble, attention: { ...attention, since: after(3) } });
  for (const earlier of [trouble, reading('Routing', 90), reading('Routing', 90, { concern: late })])
    expect(seenBy(after(90), earlier)).toEqual(earlier);
});

describe('a receiver', () => {
  const withAttention = (shown: Attention | null) => toOrderChange({ ...routing, attention: shown });
  const calm = withAttention(null);
  const worried = withAttention(late);

  it('is told of attention about the ride that comes or goes, and of no other', () => {
    expect(worried.attention).toEqual(late);
    expect(withAttention(attention)).toEqual(calm);
    const { attention: _, ...ofEarlierRelease } = calm;
    const pairs = [
      [worried, calm],
      [calm, worried],
      [withAttention({ ...late, message: '' }), worried],
      [calm, ofEarlierRelease],
      [{ ...calm, outcome: 'stopped' as const }, calm],
      [calm, null],
      [toOrderChange(newTrail()), null],
    ] as const;
    expect(pairs.map(([change, last]) => isChange(change, last))).toEqual([
      true,
      true,
      false,
      false,
      true,
      true,
      false,
    ]);
  });

  it('at a URL gets an event that names what has changed since the notice before', () => {
    const driving = toOrderChange(trailOf('Driving'));
    const types = [
      [calm, null, 'order.changed'],
      [worried, calm, 'attention.raised'],
      [calm, worried, 'attention.cleared'],
      [driving, worried, 'order.changed'],
      [worried, driving, 'order.changed'],
      [toOrderChange(trailOf('Completed')), driving, 'order.ended'],
    ] as const;
    for (const [data, last, type] of types) expect(toOrderEvent(data, last)).toEqual({ type, data });
  });
});

const day = 86_400_000;
const pickup = '2031-05-09T08:00:00.000Z';
const trailWith = (details: Record<string, unknown>) =>
  recordObservation(newTrail(), reading('Reserved', 0, { details }), []);

// V8 reads "1" as the year 2001 and a time without offset in the time zone of the worker.
const noInstants = ['1', 7];
it.each<[string, OrderTrail, string | null, string | undefined]>([
  ['unknown when neither caller nor service said it', newTrail(), null, undefined],
  ['that of the caller until the service says one', newTrail(), pickup, pickup],
  [
    'that of the service once it said one, in UTC',
    trailWith({ scheduledAt: '2031-05-10T10:00:00+02:00' }),
    '2031-05-10T08:00:00.000Z',
    pickup,
  ],
  ...noInstants.map((given): [string, OrderTrail, string, string] => [
    `that of the caller when the service says ${JSON.stringify(given)}`,
    trailWith({ scheduledAt: given }),
    pickup,
    pickup,
  ]),
])('the pick-up time is %s', (_, trail, expected, ofCaller) => {
  expect(scheduledAt(inputOf(ofCaller === undefined ? {} : { scheduledAt: ofCaller }), trail)).toBe(expected);
});

const weekAfterStart = '2031-05-08T10:00:00.000Z';
it.each<[string, Parameters<typeof inputOf>[0], string, OrderTrail?]>([
  ['is seven days after the start', {}, weekAfterStart],
  ['is seven days after a later pick-up', { scheduledAt: pickup }, '2031-05-16T08:00:00.000Z'],
  ['is not earlier for an earlier pick-up', { scheduledAt: '2031-04-01T08:00:00Z' }, weekAfterStart],
  ['comes after as long as the caller wants', { followForMs: 1_000 }, '2031-05-01T10:00:01.000Z'],
  ['is that long after a later pick-up', { followForMs: 2 * day, scheduledAt: pickup }, '2031-05-11T08:00:00.000Z'],
  [
    'moves with the pick-up time that the service says',
    { scheduledAt: pickup },
    '2031-06-08T00:00:00.000Z',
    trailWith({ scheduledAt: '2031-06-01T00:00:00Z' }),
  ],
])('the end of following %s', (_, input, at, trail = newTrail()) => {
  expect(new Date(expiresAt(inputOf(input), trail, startedAt)).toISOString()).toBe(at);
});

it.each([
  ['counts from the first of its deliveries', [58, 50, 59], after(20), 12_000],
  ['is nothing after a delivery from a clock that goes ahead', [63], null, 0],
  ['counts from the last look', [], after(20), 42_000],
  ['is nothing after a look by a clock that goes ahead', [], after(63), 0],
  ['is unknown without an earlier look', [], null, undefined],
] as const)('how late a read found a new status %s', (_, seconds, unchangedAt, lagMs) => {
  const claims = seconds.map((at) => claim(undefined, at));
  expect(statusLagMs(claims, unchangedAt, Date.parse(after(62)))).toBe(lagMs);
});
