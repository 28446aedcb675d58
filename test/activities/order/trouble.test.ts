import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenUnavailable } from '../../../src/activities/token-source.js';
import { toOrderId } from '../../../src/domain/keys.js';
import type { LookInput } from '../../../src/domain/order/trail.js';
import type { Struggle } from '../../../src/domain/struggle.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { apiError, apiErrorCodes } from '../api-errors.js';
import {
  account,
  answer,
  createLookStage,
  delayOf,
  iso,
  type LookStage,
  lookAt,
  readingOf,
  stageWith,
  start,
} from '../attempts.js';
import type { Attempt } from '../temporal.js';

const second = 1_000;
const minute = 60 * second;

const unreachable = () => new RideApiUnreachable('CONNECTION_REFUSED', 'https://partner.example');

const lastSeen = (attempts: Attempt<unknown>[]): unknown => attempts.at(-1)?.seen;
const shownOutage = { rawStatus: 'Routing', attention: 'upstreamUnavailable' } as const;
const secondsAsked = ({ asked }: LookStage): number[] => asked.map((at) => (at - start) / second);

describe('trouble that may pass by itself', () => {
  it('is repeated with growing pauses and remembered in the heartbeat', async () => {
    const { failure, heartbeats } = await stageWith(unreachable()).attempt('observeOrder', lookAt());
    expect(failure).toMatchObject({ type: 'UpstreamUnavailable', nonRetryable: false, nextRetryDelay: second });
    expect(failure?.category).not.toBe('BENIGN');
    expect(failure?.stack).toBe('');
    expect(failure?.message).toContain('CONNECTION_REFUSED');
    const remembered: Partial<Struggle> = { code: 'upstreamUnavailable', failures: 1, since: iso(start) };
    expect(heartbeats).toEqual([expect.objectContaining({ ...remembered, notBefore: iso(start + second) })]);
  });

  it('goes on from what an earlier attempt remembered', async () => {
    const stage = stageWith(unreachable());
    const heartbeatDetails = (await stage.attempt('observeOrder', lookAt())).heartbeats[0];
    stage.now += 400;
    expect(delayOf(await stage.attempt('observeOrder', lookAt(), { heartbeatDetails }))).toBe(600);
    expect(stage.asked, 'Temporal came back too early').toHaveLength(1);
    stage.now += 600;
    const next = await stage.attempt('observeOrder', lookAt(), { attempt: 2, heartbeatDetails });
    expect(delayOf(next)).toBe(2 * second);
    expect(next.heartbeats).toEqual([expect.objectContaining({ failures: 2, since: iso(start) })]);
    expect(next.failure?.message).toContain('Attempt 2 since 2031-05-01T10:00:00.000Z');
  });

  it('is shown after five minutes', async () => {
    const stage = stageWith(unreachable());
    const attempts = await stage.run('observeOrder', lookAt());
    expect(stage.now).toBe(start + 5 * minute);
    const message = expect.stringContaining('no answer from');
    const attention = { code: 'upstreamUnavailable', message, since: iso(start) };
    const seen = { kind: 'trouble', attention, notBefore: expect.any(String), reads: attempts.length };
    expect(lastSeen(attempts)).toEqual(seen);
    expect(secondsAsked(stage)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
  });

  it('is forgotten after a call that went well', async () => {
    const stage = stageWith(unreachable(), unreachable(), readingOf('Routing'), unreachable(), readingOf('Driving'));
    const attempts = await stage.run('observeOrder', lookAt());
    expect(secondsAsked(stage)).toEqual([0, 1, 3, 13, 14]);
    expect(attempts[2]?.heartbeats).toEqual([null]);
    const begunAgain = { failures: 1, since: iso(start + 13 * second) };
    expect(attempts[3]?.heartbeats).toEqual([expect.objectContaining(begunAgain)]);
    expect(lastSeen(attempts)).toMatchObject({ reading: { status: 'Driving' } });
  });

  it('is repeated every minute while it is shown, and ends with the next reading', async () => {
    const stage = stageWith(unreachable(), unreachable(), unreachable(), readingOf('Routing'));
    const attempts = await stage.run('observeOrder', lookAt({ shown: shownOutage }));
    expect(secondsAsked(stage)).toEqual([0, 60, 120, 180]);
    expect(lastSeen(attempts)).toMatchObject({ kind: 'reading', reading: { status: 'Routing' } });
  });

  it('of a one-shot read is treated alike', async () => {
    const stage = stageWith(unreachable(), unreachable(), readingOf('Routing'));
    const attempts = await stage.run('readOrder', lookAt());
    expect(secondsAsked(stage)).toEqual([0, 1, 3]);
    expect(lastSeen(attempts)).toMatchObject({ kind: 'reading', reads: 3 });
  });

  it('answers a one-shot read at once while it is shown: a caller waits for it', async () => {
    const stage = stageWith(unreachable());
    const attempts = await stage.run('readOrder', lookAt({ shown: shownOutage }));
    expect(secondsAsked(stage)).toEqual([0]);
    expect(lastSeen(attempts)).toMatchObject({ kind: 'trouble', attention: { code: 'upstreamUnavailable' } });
  });

  it.each([
    ['an outage', unreachable()],
    ['an order that the service does not know', apiError('ORDER_UNKNOWN', undefined, 'not_found')],
  ])('is not shown without a look after the process was away: %s', async (_, error) => {
    const stage = stageWith(error, readingOf('Driving'));
    const heartbeatDetails = (await stage.attempt('observeOrder', lookAt())).heartbeats[0];
    stage.now += 10 * minute;
    const { seen } = await stage.attempt('observeOrder', lookAt(), { attempt: 2, heartbeatDetails });
    expect(seen).toMatchObject({ kind: 'reading', reading: { status: 'Driving' } });
  });
});

describe('the wait that the service asks for', () => {
  it.each([2, 7, 60])('is kept exactly: %i s', async (retryAfter) => {
    const stage = stageWith(apiError('RATE_LIMITED', retryAfter), readingOf('Driving'));
    stage.random = 0.99;
    const attempts = await stage.run('observeOrder', lookAt());
    expect(secondsAsked(stage)).toEqual([0, retryAfter]);
    expect(attempts).toHaveLength(2);
  });

  it.each([0, 1])('of %i s with each answer brings no more requests than an answer that does not say', async (wish) => {
    const stage = stageWith(apiError('UPSTREAM_FAILED', wish));
    await stage.run('observeOrder', lookAt());
    expect(secondsAsked(stage)).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243]);
  });

  it('longer than a minute is shown at once, with its end, and kept by the activity that comes next', async () => {
    const stage = stageWith(apiError('UPSTREAM_FAILED', 599), readingOf('Driving'));
    const attempts = await stage.run('observeOrder', lookAt());
    expect(stage.now).toBe(start);
    const message = expect.stringMatching(/ Nothing is sent until 2031-05-01 10:09:59 UTC\.$/);
    const notBefore = iso(start + 599 * second);
    const attention = { code: 'upstreamUnavailable', message };
    expect(lastSeen(attempts)).toMatchObject({ kind: 'trouble', attention, notBefore });
    const next = await stage.run('observeOrder', lookAt({ shown: shownOutage, notBefore }));
    expect(next[0]?.failure?.message).toBe('Waits until 2031-05-01 10:09:59 UTC.');
    expect(secondsAsked(stage)).toEqual([0, 599]);
  });
});

describe('a wait of an earlier release, or of a worker whose clock is wrong, ends', () => {
  const year = 365 * 24 * 60 * minute;
  const shown = shownOutage;

  it.each(['observeOrder', 'readOrder'] as const)('ten minutes after its activity began (%s)', async (name) => {
    const stage = stageWith(readingOf('Driving'));
    await stage.run(name, lookAt({ shown, notBefore: iso(start + year) }));
    expect(secondsAsked(stage)).toEqual([600]);
  });

  it('at once when its activity began before that', async () => {
    const stage = stageWith(readingOf('Driving'));
    const times = { attempt: 2, scheduledTimestampMs: start - 10 * minute };
    const { seen } = await stage.attempt('observeOrder', lookAt({ shown, notBefore: iso(start + year) }), times);
    expect(seen).toMatchObject({ kind: 'reading' });
  });

  it('ten minutes after the attempt that finds it in what another one remembered', async () => {
    const stage = stageWith(apiError('RATE_LIMITED', 30), readingOf('Driving'));
    const remembered = (await stage.attempt('observeOrder', lookAt())).heartbeats[0] as Struggle;
    const attempts = await stage.run('observeOrder', lookAt({ shown }), {
      heartbeatDetails: { ...remembered, notBefore: iso(start + year) },
    });
    expect(secondsAsked(stage)).toEqual([0, 600]);
    expect(lastSeen(attempts)).toMatchObject({ kind: 'reading' });
  });

  it('as well for a worker whose clock is a year behind that of the server', async () => {
    const stage = stageWith(readingOf('Driving'));
    const times = { scheduledTimestampMs: start + year, currentAttemptScheduledTimestampMs: start + year };
    const input = lookAt({ shown, notBefore: iso(start + year + 5 * minute) });
    expect(delayOf(await stage.attempt('observeOrder', input, times))).toBe(5 * minute);
  });

  it('as well where such a worker meets trouble itself, or what another one remembered', async () => {
    const stage = stageWith(apiError('RATE_LIMITED', 30));
    const due = start + year;
    const times = { scheduledTimestampMs: due, currentAttemptScheduledTimestampMs: due };
    const first = await stage.attempt('observeOrder', lookAt(), times);
    expect(delayOf(first)).toBe(30 * second);
    const heartbeatDetails = first.heartbeats.at(-1);
    const early = await stage.attempt('observeOrder', lookAt(), { ...times, attempt: 2, heartbeatDetails });
    expect(delayOf(early)).toBe(30 * second);
    expect(stage.asked).toHaveLength(1);
  });

  it('at once when it is no instant', async () => {
    const { seen } = await stageWith(readingOf('Driving')).attempt('observeOrder', lookAt({ notBefore: 'tomorrow' }));
    expect(seen).toMatchObject({ kind: 'reading' });
  });
});

describe('trouble that a person must repair', () => {
  it.each([
    ['FORBIDDEN', 'forbidden'],
    ['TOKEN_REJECTED', 'credentialsRejected'],
  ] as const)('is shown at once (%s), and asked again after a minute', async (code, attention) => {
    const stage = stageWith(apiError(code));
    const { seen } = await stage.attempt('observeOrder', lookAt(), { attempt: 4 });
    const shown = { kind: 'trouble', notBefore: iso(start + minute), reads: 4 };
    expect(seen).toMatchObject({ ...shown, attention: { code: attention, since: iso(start) } });
    expect(stage.asked).toHaveLength(1);
  });

  it('is not told again while it is shown', async () => {
    const stage = stageWith(apiError('FORBIDDEN'));
    const shown = { rawStatus: 'Routing', attention: 'forbidden' } as const;
    const attempts = await stage.run('observeOrder', lookAt({ shown }), { untilMs: 10 * minute });
    expect(attempts.every(({ failure }) => failure?.type === 'Forbidden')).toBe(true);
    expect(secondsAsked(stage)).toEqual([0, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600]);
  });

  it('of a token cools down exactly as long as the fleet does', async () => {
    const attention = { code: 'scopeRejected', message: 'Check the scope.' } as const;
    const stage = stageWith(new TokenUnavailable(attention.code, attention.message, start + 42_000));
    const { seen } = await stage.attempt('observeOrder', lookAt());
    expect(seen).toMatchObject({ attention, notBefore: iso(start + 42_000) });
  });
});

describe('an order that the service does not know', () => {
  const unknown = (upstreamCode: string | null = 'not_found') => apiError('ORDER_UNKNOWN', undefined, upstreamCode);
  const unread = { shown: { rawStatus: null, attention: null } };
  const lookedFor = { shown: { rawStatus: null, attention: 'orderNotFound' }, mayBeUnknown: true } as const;
  const other = toOrderId('4712');

  it.each([
    ['never read', { ...unread, mayBeUnknown: true }],
    ['read before', {}],
  ])('is shown after two minutes, with all that may be wrong (%s)', async (_, input) => {
    const stage = stageWith(unknown());
    const attempts = await stage.run('observeOrder', lookAt(input));
    const message = expect.stringMatching(/order id 4711.+account partner.+operations\.orderStatus\.path/);
    const attention = { code: 'orderNotFound', message, since: iso(start) };
    expect(lastSeen(attempts)).toMatchObject({ kind: 'trouble', attention });
    expect(stage.now).toBe(start + 2 * minute);
    expect(attempts[0]?.failure?.type).toBe('OrderNotFound');
    expect(secondsAsked(stage).slice(0, 11)).toEqual([0, 1, 3, 7, 15, 30, 45, 60, 75, 90, 105]);
  });

  it('may appear within that time', async () => {
    const stage = stageWith(unknown(), unknown(), unknown(), readingOf('Pending'));
    const attempts = await stage.run('readOrder', lookAt());
    expect(lastSeen(attempts)).toMatchObject({ kind: 'reading', reading: { status: 'Pending' } });
  });

  // The last 404 before the grace ends is up to 15 s old.
  it.each([0, 0.5])('is looked for once more after the two minutes, with pauses spread by %d', async (random) => {
    const stage = stageWith(unknown());
    stage.random = random;
    await stage.run('observeOrder', lookAt());
    expect(stage.asked.at(-1)).toBeGreaterThanOrEqual(start + 2 * minute);
  });

  it('is looked for each minute while that is shown, until it is found', async () => {
    const stage = stageWith(...Array(6).fill(unknown()), readingOf('Pending'));
    const attempts = await stage.run('observeOrder', lookAt(lookedFor));
    expect(secondsAsked(stage)).toEqual([0, 60, 120, 180, 240, 300, 360]);
    expect(lastSeen(attempts)).toMatchObject({ kind: 'reading', reading: { status: 'Pending' } });
  });

  /** Looks for an hour; `read` is read beside each look until `readsEndMs`. */
  async function lookedForAnHour(
    input: Partial<LookInput>,
    { upstreamCode = 'not_found' as string | null, read = other, readsEndMs = 60 * minute } = {},
  ) {
    const stage = createLookStage((on) => async () => {
      if (on.now < start + readsEndMs) on.provenPaths.prove(account.name, read);
      return answer(on);
    });
    stage.answers = [unknown(upstreamCode)];
    return { stage, attempts: await stage.run('observeOrder', lookAt(input)) };
  }

  it('is unknown for good after five minutes in which other orders were read', async () => {
    const { stage, attempts } = await lookedForAnHour(lookedFor);
    expect(lastSeen(attempts)).toEqual({ kind: 'unknownOrder', reads: attempts.length });
    expect(stage.now).toBe(start + 5 * minute);
  });

  it.each([
    ['a ride or a delivery vouches for it', { ...lookedFor, mayBeUnknown: false }, {}],
    ['the 404 is no word of the service', lookedFor, { upstreamCode: null }],
    ['no other order was read', lookedFor, { read: toOrderId('4711') }],
    ['no other order was read lately', lookedFor, { readsEndMs: 3 * minute }],
    ['nothing was read at all', lookedFor, { readsEndMs: 0 }],
  ] as const)('is looked for on and on where %s', async (_, input, about) => {
    const { stage, attempts } = await lookedForAnHour(input, about);
    expect(attempts.every(({ seen }) => seen === undefined)).toBe(true);
    expect(stage.asked.length).toBe(61);
  });

  it('is looked for on when the path is mended while the last of the 404 is on its way', async () => {
    const stage = createLookStage((on) => async () => {
      if (on.now === start + 5 * minute) on.provenPaths.prove(account.name, other);
      return answer(on);
    });
    stage.answers = [...Array(6).fill(unknown()), readingOf('Pending')];
    const attempts = await stage.run('observeOrder', lookAt(lookedFor));
    expect(lastSeen(attempts)).toMatchObject({ kind: 'reading' });
  });
});

describe('what a failed look leaves behind', () => {
  const errors = fc.oneof(
    fc.constantFrom(...apiErrorCodes).chain((code) => fc.constantFrom(apiError(code), apiError(code, 30))),
    fc.constant(unreachable()),
    fc.constant(new TokenUnavailable('upstreamUnavailable', 'No access token yet.', start + 1_000)),
  );

  it('never asks for a delay of 0 nor of a fraction, and always has a type to switch on', async () => {
    const shares = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await fc.assert(
      fc.asyncProperty(fc.array(errors, { minLength: 1, maxLength: 5 }), shares, async (answers, random) => {
        const stage = stageWith(...answers);
        stage.random = random;
        const attempts = await stage.run('observeOrder', lookAt(), { untilMs: 3 * minute }); // `run` refuses such a delay
        for (const { failure } of attempts) if (failure) expect(failure.type).toMatch(/^[A-Z][A-Za-z]+$/);
        for (const { seen } of attempts) {
          if (seen?.kind === 'trouble') expect(Date.parse(seen.notBefore)).toBeGreaterThanOrEqual(start);
        }
      }),
      { numRuns: 50 },
    );
  });
});
