import { describe, expect, it } from 'vitest';
import type { FailureStreak } from '../../../src/domain/failure-streak.js';
import { toOrderId } from '../../../src/domain/keys.js';
import type { ReadOrderInput } from '../../../src/domain/order/trail.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { account, aRead, LookStage, readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { type Attempt, delayOf, iso, minute, second, start } from '../temporal.js';

const unreachable = () => new RideApiUnreachable('NO_CONNECTION', 'https://partner.example');
const unknown = (upstreamCode: string | null = 'not_found') => apiError('ORDER_UNKNOWN', undefined, upstreamCode);

const lastSeen = (attempts: Attempt<unknown>[]): unknown => attempts.at(-1)?.seen;
const shownOutage = { rawStatus: 'Routing', attention: 'upstreamUnavailable' } as const;
const lookedFor = { rawStatus: null, attention: 'orderNotFound', vouching: 'nobody' } as const;
/** The same where deliveries name the order. */
const named = { ...lookedFor, vouching: 'delivery' } as const;
const secondsAsked = ({ asked }: LookStage): number[] => asked.map((at) => (at - start) / second);

it('a read that meets an outage is repeated with growing pauses, and remembers it in the heartbeat', async () => {
  const { failure, heartbeats } = await new LookStage(unreachable()).attempt(aRead());
  expect(failure).toMatchObject({ type: 'UpstreamUnavailable', nonRetryable: false, nextRetryDelay: second });
  expect(failure?.category).not.toBe('BENIGN');
  expect(failure?.stack).toBe('');
  expect(failure?.message).toContain('NO_CONNECTION');
  const remembered: Partial<FailureStreak> = { code: 'upstreamUnavailable', failures: 1, since: iso(start) };
  expect(heartbeats).toEqual([expect.objectContaining({ ...remembered, notBefore: iso(start + second) })]);
});

it('an attempt goes on from the trouble that an earlier one remembered', async () => {
  const stage = new LookStage(unreachable());
  const heartbeatDetails = (await stage.attempt(aRead())).heartbeats[0];
  stage.now += 400;
  expect(delayOf(await stage.attempt(aRead(), { heartbeatDetails }))).toBe(600);
  expect(stage.asked, 'Temporal came back too early').toHaveLength(1);
  stage.now += 600;
  const next = await stage.attempt(aRead(), { attempt: 2, heartbeatDetails });
  expect(delayOf(next)).toBe(2 * second);
  expect(next.heartbeats).toEqual([expect.objectContaining({ failures: 2, since: iso(start) })]);
  expect(next.failure?.message).toContain('Attempt 2 since 2031-05-01T10:00:00.000Z');
});

it('an attempt after trouble observes the wait of the trouble, which is newer than the one in the input', async () => {
  const stage = new LookStage(unreachable(), readingOf('Driving'));
  const heartbeatDetails = (await stage.attempt(aRead())).heartbeats[0];
  stage.now += second;
  const input = aRead({ notBefore: iso(start + minute) });
  const { seen } = await stage.attempt(input, { attempt: 2, heartbeatDetails });
  expect(seen).toMatchObject({ kind: 'reading' });
});

it('a read shows an outage after five minutes', async () => {
  const stage = new LookStage(unreachable());
  const attempts = await stage.run(aRead());
  expect(stage.now).toBe(start + 5 * minute);
  const message = expect.stringContaining('no answer from');
  const attention = { code: 'upstreamUnavailable', message, since: iso(start) };
  const seen = { kind: 'trouble', attention, notBefore: expect.any(String), reads: attempts.length };
  expect(lastSeen(attempts)).toEqual(seen);
  expect(secondsAsked(stage)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
});

it.each([
  ['an outage', unreachable(), shownOutage, 'UpstreamUnavailable'],
  ['a refusal', apiError('FORBIDDEN'), { attention: 'forbidden' }, 'Forbidden'],
  ['an unknown order', unknown(), lookedFor, 'OrderNotFound'],
] as const)(
  'a read asks every minute while the run shows %s, until it reads the order',
  async (_, error, input, type) => {
    const stage = new LookStage(...Array(6).fill(error), readingOf('Routing'));
    const attempts = await stage.run(aRead(input));
    expect(secondsAsked(stage)).toEqual([0, 60, 120, 180, 240, 300, 360]);
    expect(new Set(attempts.slice(0, -1).map(({ failure }) => failure?.type))).toEqual(new Set([type]));
    expect(lastSeen(attempts)).toMatchObject({ kind: 'reading', reading: { status: 'Routing' } });
  },
);

it('a read for a person answers at once with trouble that the run shows already', async () => {
  const stage = new LookStage(unreachable());
  const attempts = await stage.run(aRead({ ...shownOutage, forPerson: true }));
  expect(secondsAsked(stage)).toEqual([0]);
  expect(lastSeen(attempts)).toMatchObject({ kind: 'trouble', attention: { code: 'upstreamUnavailable' } });
});

it('a read after a hint about an outage goes on from it, and shows it at its first failure', async () => {
  const stage = new LookStage(unreachable());
  stage.now += 5 * minute;
  const notBefore = iso(stage.now);
  const streak: FailureStreak = { code: 'upstreamUnavailable', message: '', since: iso(start), failures: 9, notBefore };
  const { seen } = await stage.attempt(aRead({ streak }));
  expect(seen).toMatchObject({ kind: 'trouble', attention: { code: 'upstreamUnavailable', since: iso(start) } });
  expect(secondsAsked(stage)).toEqual([300]);
});

it.each([
  [599, 599, '10:09:59'],
  [86_400, 600, '10:10:00'],
])('a read shows a wait of %i s at once, as %i s, and the next activity keeps to it', async (wish, waitS, end) => {
  const stage = new LookStage(apiError('UPSTREAM_FAILED', wish), readingOf('Driving'));
  const attempts = await stage.run(aRead());
  expect(stage.now).toBe(start);
  const message = expect.stringMatching(` Nothing is sent until 2031-05-01 ${end} UTC\\.$`);
  const notBefore = iso(start + waitS * second);
  const attention = { code: 'upstreamUnavailable', message };
  expect(lastSeen(attempts)).toMatchObject({ kind: 'trouble', attention, notBefore });
  const next = await stage.run(aRead({ ...shownOutage, notBefore }));
  expect(next[0]?.failure?.message).toBe(`Waits until 2031-05-01 ${end} UTC.`);
  expect(secondsAsked(stage)).toEqual([0, waitS]);
});

describe('a wait of a worker whose clock is wrong', () => {
  const year = 365 * 24 * 60 * minute;
  const shown = shownOutage;

  it('a read waits at most ten minutes from its start, whatever its input says', async () => {
    const stage = new LookStage(readingOf('Driving'));
    await stage.run(aRead({ ...shown, notBefore: iso(start + year) }));
    expect(secondsAsked(stage)).toEqual([600]);
  });

  it.each([
    [
      'is over because the activity began ten minutes ago',
      { notBefore: iso(start + year), ...shown },
      start - 10 * minute,
    ],
    ['is no instant', { notBefore: 'tomorrow' }, start],
  ])('a read asks at once when the wait in its input %s', async (_, input, scheduledTimestampMs) => {
    const stage = new LookStage(readingOf('Driving'));
    const { seen } = await stage.attempt(aRead(input), { attempt: 2, scheduledTimestampMs });
    expect(seen).toMatchObject({ kind: 'reading' });
  });

  it('an attempt waits at most ten minutes, whatever an earlier one remembered', async () => {
    const stage = new LookStage(apiError('RATE_LIMITED', 30), readingOf('Driving'));
    const remembered = (await stage.attempt(aRead())).heartbeats[0] as FailureStreak;
    const attempts = await stage.run(aRead(shown), {
      heartbeatDetails: { ...remembered, notBefore: iso(start + year) },
    });
    expect(secondsAsked(stage)).toEqual([0, 600]);
    expect(lastSeen(attempts)).toMatchObject({ kind: 'reading' });
  });

  it('a worker whose clock is a year behind waits no longer by its input, after trouble, or by what it remembered', async () => {
    const stage = new LookStage(apiError('RATE_LIMITED', 30));
    const due = start + year;
    const times = { scheduledTimestampMs: due, currentAttemptScheduledTimestampMs: due };
    const told = aRead({ ...shown, notBefore: iso(due + 5 * minute) });
    expect(delayOf(await stage.attempt(told, times))).toBe(5 * minute);
    const first = await stage.attempt(aRead(), times);
    expect(delayOf(first)).toBe(30 * second);
    const heartbeatDetails = first.heartbeats.at(-1);
    const early = await stage.attempt(aRead(), { ...times, attempt: 2, heartbeatDetails });
    expect(delayOf(early)).toBe(30 * second);
    expect(stage.asked).toHaveLength(1);
  });
});

it.each([
  ['FORBIDDEN', 'forbidden'],
  ['TOKEN_REJECTED', 'credentialsRejected'],
] as const)('a read shows %s at once as %s, and the next look comes a minute later', async (code, attention) => {
  const stage = new LookStage(apiError(code));
  const { seen } = await stage.attempt(aRead(), { attempt: 4 });
  const shown = { kind: 'trouble', notBefore: iso(start + minute), reads: 4 };
  expect(seen).toMatchObject({ ...shown, attention: { code: attention, since: iso(start) } });
  expect(stage.asked).toHaveLength(1);
});

describe('an order that the service does not know', () => {
  const unread = { rawStatus: null };
  const other = toOrderId('4712');

  it.each([
    ['never read', { ...unread, vouching: 'nobody' }],
    ['read before', {}],
  ] as const)(
    'a read shows after two minutes that the service does not know an order (%s), and what to check',
    async (_, input) => {
      const stage = new LookStage(unknown());
      const attempts = await stage.run(aRead(input));
      const message = expect.stringMatching(/order id 4711.+account partner.+operations\.orderStatus\.path/);
      const attention = { code: 'orderNotFound', message, since: iso(start) };
      expect(lastSeen(attempts)).toMatchObject({ kind: 'trouble', attention });
      expect(stage.now).toBe(start + 2 * minute);
      expect(attempts[0]?.failure?.type).toBe('OrderNotFound');
      expect(secondsAsked(stage).slice(0, 11)).toEqual([0, 1, 3, 7, 15, 30, 45, 60, 75, 90, 105]);
    },
  );

  /** Looks for an hour; `read` is read beside each look until `readsEndMs`. */
  async function lookedForAnHour(
    input: Partial<ReadOrderInput>,
    { upstreamCode = 'not_found' as string | null, read = other, readsEndMs = 60 * minute } = {},
  ) {
    const stage = new LookStage(unknown(upstreamCode));
    stage.readOrder = async () => {
      if (stage.now < start + readsEndMs) stage.provenPaths.prove(account.name, read);
      return stage.answer();
    };
    return { stage, attempts: await stage.run(aRead(input)) };
  }

  it.each([
    ['five', 'nobody', lookedFor],
    ['fifteen', 'a delivery', named],
  ] as const)(
    'a read ends after %s minutes in which other orders were read, where %s names it',
    async (long, _, input) => {
      const { stage, attempts } = await lookedForAnHour(input);
      const seen = { kind: 'unknownOrder', reads: attempts.length };
      expect([lastSeen(attempts), stage.now]).toEqual([seen, start + (long === 'five' ? 5 : 15) * minute]);
    },
  );

  it.each([
    ['a ride vouches for it', { ...lookedFor, vouching: 'rideOrRead' }, {}],
    ['the 404 is no word of the service, and deliveries name it', named, { upstreamCode: null }],
    ['no other order was read lately, and deliveries name it', named, { readsEndMs: 13 * minute }],
    ['the 404 is no word of the service', lookedFor, { upstreamCode: null }],
    ['no other order was read', lookedFor, { read: toOrderId('4711') }],
    ['no other order was read lately', lookedFor, { readsEndMs: 3 * minute }],
    ['nothing was read at all', lookedFor, { readsEndMs: 0 }],
  ] as const)('a read goes on looking for an unknown order where %s', async (_, input, about) => {
    const { stage, attempts } = await lookedForAnHour(input, about);
    expect(attempts.every(({ seen }) => seen === undefined)).toBe(true);
    expect(stage.asked.length).toBe(61);
  });

  it('a read goes on when the path is repaired while the last 404 is on its way', async () => {
    const stage = new LookStage(...Array(6).fill(unknown()), readingOf('Pending'));
    stage.readOrder = async () => {
      if (stage.now === start + 5 * minute) stage.provenPaths.prove(account.name, other);
      return stage.answer();
    };
    const attempts = await stage.run(aRead(lookedFor));
    expect(lastSeen(attempts)).toMatchObject({ kind: 'reading' });
  });
});
