import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidInput } from '../../src/domain/errors.js';
import { effectOf, RideApiGarbled, RideApiUnreachable, type UnreachableCode } from '../../src/ride-api/errors.js';
import { retryAfterMs, toRideApiError } from '../../src/ride-api/refusal.js';
import { forAny } from '../support/for-any.js';
import { answer } from './accounts.js';

const now = Date.parse('2031-05-01T10:00:00.250Z');
const terms = { now, maxWaitMs: 600_000 };

describe('whether a changing call was sent', () => {
  const unreachable = (code: UnreachableCode) => new RideApiUnreachable(code, 'https://business.example');
  const refused = (status: number, body?: unknown) => toRideApiError(answer(status, body), { ...terms, secrets: [] });
  const envelope = { status: 'error', error: { code: 'NOTICE_FAILED' } };

  it.each([
    ['no', [unreachable('NO_CONNECTION'), new InvalidInput('x'), refused(429)]],
    ['no', [400, 401, 402, 403, 404, 409, 422, 302, 303].map((status) => refused(status))],
    ['no', [refused(200, envelope)]],
    ['unknown', [500, 502, 503, 504, 200, 204].map((status) => refused(status))],
    ['unknown', [unreachable('CONNECTION_LOST'), unreachable('TOTAL_TIMEOUT'), new Error('?')]],
    ['unknown', [new RideApiGarbled('NOT_JSON', 'https://business.example', 200)]],
  ])('is said by its error: %s (%#)', (sent, errors) => {
    for (const error of errors) expect([effectOf(error), String(error)]).toEqual([sent, String(error)]);
  });

  it('is unknown after "see there" and an error under a success, where a repeat would make a second order', () => {
    expect([refused(303), refused(200, envelope), refused(302)].map((error) => effectOf(error, true))).toEqual([
      ...['unknown', 'unknown', 'no'],
    ]);
  });
});

describe('a rate limit', () => {
  const codeOf = (status: number, headers = {}, body?: unknown) => {
    const {
      code,
      retryable,
      retryAfterMs: waitMs,
    } = toRideApiError(answer(status, body, headers), { ...terms, secrets: [] });
    return { code, retryable, waitMs };
  };
  const wait = { 'retry-after': '7' };
  const forbidden = { code: 'FORBIDDEN', retryable: false, waitMs: undefined };

  it('is 429, and 403 that asks for a wait', () => {
    const limited = { code: 'RATE_LIMITED', retryable: true, waitMs: 7_000 };
    expect([codeOf(429, wait), codeOf(403, wait)]).toEqual([limited, limited]);
  });

  it('is not any other 403', () => {
    for (const header of ['soon', '', undefined]) expect(codeOf(403, { 'retry-after': header })).toEqual(forbidden);
  });
});

describe('Retry-After', () => {
  const waitOf = (header: string | undefined, at = now, date?: string) =>
    retryAfterMs({ 'retry-after': header, date }, { ...terms, now: at });
  const tooSoon = ['0', '00', 'Thu, 01 May 2031 10:00:01 GMT', 'Thu, 01 May 2025 10:00:00 GMT'];
  const tooLate = ['601', '86400', '9'.repeat(400), 'Sat, 01 May 2032 10:00:00 GMT', 'Fri, 01 May 2099 10:00:00 GMT'];
  const noNumbers = ['-1', '1.5', '1e3', '0x10', '7, 8'];
  const unreadable = [undefined, '', 'soon', ...noNumbers, '2031-05-01T10:00:30Z', 'Thu, 99 May 2031 10:00:30 GMT'];
  const dates = ['Thu, 01 May 2031', 'Thursday, 01-May-31'].map((day) => `${day} 10:00:30 GMT`);

  it.each<[number | undefined, (string | undefined)[]]>([
    [7_000, ['7', ' 7 ', '007']],
    [29_750, [...dates, 'Thu May  1 10:00:30 2031']],
    [1_000, ['1', ...tooSoon]], // Temporal reads a delay of 0 as "none"
    [terms.maxWaitMs, tooLate],
    [undefined, unreadable],
  ])('means a wait of %s ms if it says %j', (ms, headers) => {
    for (const header of headers) expect([header, waitOf(header)]).toEqual([header, ms]);
  });

  it.each([
    ['counts from the Date of the answer, where our clock is an hour ahead', '09:00:00', '09:00:30', 30_000],
    ['counts from the Date of the answer, where our clock is an hour behind', '11:00:00', '11:00:30', 30_000],
    ['counts from our clock, beside a Date that cannot be read', 'soon', '10:00:30', 29_750],
  ])('as a date %s', (_, date, header, ms) => {
    const onThatDay = (time: string) => `Thu, 01 May 2031 ${time} GMT`;
    expect(waitOf(onThatDay(header), now, onThatDay(date))).toBe(ms);
    expect(waitOf('7', now, onThatDay(date)), 'seconds depend on no clock').toBe(7_000);
  });

  it('as a date never ends before that date', () => {
    forAny(fc.integer({ min: 1, max: 599 }), fc.nat(999), (seconds, fraction) => {
      const at = now - 250 + seconds * 1_000;
      const from = now - 250 - fraction;
      expect(from + Number(waitOf(new Date(at).toUTCString(), from))).toBe(Math.max(at, from + 1_000));
    });
  });

  it('of any text is undefined or between a second and the longest wait', () => {
    forAny(fc.string(), (header) => {
      const ms = waitOf(header) ?? 1_000;
      expect(ms >= 1_000 && ms <= terms.maxWaitMs).toBe(true);
    });
  });
});
