import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideRetry, retryAfterMs } from '../../src/ride-api/retry-decision.js';
import { forAny } from '../support/for-any.js';

const now = Date.parse('2031-05-01T10:00:00.250Z');
const maxWaitMs = 600_000;
const waitOf = (header: string | undefined, at = now, date?: string) =>
  retryAfterMs({ 'retry-after': header, date }, { now: at, maxWaitMs });
const decide = (status: number, header?: string) => decideRetry(status, { 'retry-after': header }, { now, maxWaitMs });

describe('Retry-After', () => {
  const tooSoon = ['0', '00', 'Thu, 01 May 2031 10:00:01 GMT', 'Thu, 01 May 2025 10:00:00 GMT'];
  const tooLate = ['601', '86400', '9'.repeat(400), 'Sat, 01 May 2032 10:00:00 GMT', 'Fri, 01 May 2099 10:00:00 GMT'];
  const noNumbers = ['-1', '1.5', '1e3', '0x10', '7, 8'];
  const unreadable = [undefined, '', 'soon', ...noNumbers, '2031-05-01T10:00:30Z', 'Thu, 99 May 2031 10:00:30 GMT'];

  it.each<[string | undefined, number | undefined]>([
    ['7', 7_000],
    [' 7 ', 7_000],
    ['007', 7_000],
    ['1', 1_000],
    ['Thu, 01 May 2031 10:00:30 GMT', 29_750],
    ['Thursday, 01-May-31 10:00:30 GMT', 29_750],
    ['Thu May  1 10:00:30 2031', 29_750],
    ...tooSoon.map((header): [string, number] => [header, 1_000]), // Temporal reads a delay of 0 as "none"
    ...tooLate.map((header): [string, number] => [header, maxWaitMs]),
    ...unreadable.map((header): [string | undefined, undefined] => [header, undefined]),
  ])('that says %j makes a wait of %s ms', (header, ms) => {
    expect(waitOf(header)).toBe(ms);
  });

  it.each([
    ['a date counts from the Date of the answer, where our clock is an hour ahead', '09:00:00', '09:00:30', 30_000],
    ['a date counts from the Date of the answer, where our clock is an hour behind', '11:00:00', '11:00:30', 30_000],
    ['a date counts from our clock, beside a Date that cannot be read', 'soon', '10:00:30', 29_750],
  ])('as a date: %s', (_, date, header, ms) => {
    const onThatDay = (time: string) => `Thu, 01 May 2031 ${time} GMT`;
    expect(waitOf(onThatDay(header), now, onThatDay(date))).toBe(ms);
  });

  it('in seconds does not depend on any clock', () => {
    expect(waitOf('7', now, 'Thu, 01 May 2025 10:00:00 GMT')).toBe(7_000);
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
      expect(ms >= 1_000 && ms <= maxWaitMs).toBe(true);
    });
  });
});

describe('the retry decision', () => {
  it.each([429, 500, 502, 503, 504])('%i is tried again, after the wait it asks for', (status) => {
    expect(decide(status, '7')).toEqual({ retry: true, afterMs: 7_000 });
    expect(decide(status)).toEqual({ retry: true, afterMs: undefined });
  });

  it.each([200, 301, 400, 401, 402, 403, 404, 408, 409, 422, 428, 431, 451])(
    '%i is final, whatever the header',
    (status) => {
      expect(decide(status, '7')).toEqual({ retry: false });
    },
  );
});
