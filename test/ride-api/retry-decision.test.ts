import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideRetry, retryAfterMs } from '../../src/ride-api/retry-decision.js';

const now = Date.parse('2031-05-01T10:00:00.250Z');

describe('Retry-After', () => {
  it.each([
    ['7', 7_000],
    [' 7 ', 7_000],
    ['007', 7_000],
    ['1', 1_000],
    ['Thu, 01 May 2031 10:00:30 GMT', 29_750],
    ['Thursday, 01-May-31 10:00:30 GMT', 29_750],
    ['Thu May  1 10:00:30 2031', 29_750],
  ])('%j is waited for exactly', (header, ms) => {
    expect(retryAfterMs(header, now)).toBe(ms);
  });

  it.each(['0', '00', 'Thu, 01 May 2031 10:00:01 GMT', 'Thu, 01 May 2025 10:00:00 GMT'])(
    '%j becomes a second, since Temporal reads 0 as "none"',
    (header) => {
      expect(retryAfterMs(header, now)).toBe(1_000);
    },
  );

  it.each(['86401', '9'.repeat(400), 'Fri, 01 May 2099 10:00:00 GMT'])('%j is cut to a day', (header) => {
    expect(retryAfterMs(header, now)).toBe(86_400_000);
  });

  it.each([
    undefined,
    '',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    'soon',
    '7, 8',
    '2031-05-01T10:00:30Z',
    'Thu, 99 May 2031 10:00:30 GMT',
  ])('%j says nothing', (header) => {
    expect(retryAfterMs(header, now)).toBeUndefined();
  });

  it('of whole seconds is waited for to the millisecond, between a second and a day', () => {
    fc.assert(
      fc.property(fc.nat(200_000), (seconds) => {
        expect(retryAfterMs(String(seconds), now)).toBe(Math.min(Math.max(seconds * 1_000, 1_000), 86_400_000));
      }),
    );
  });

  it('as a date never ends before that date', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 86_000 }), fc.nat(999), (seconds, fraction) => {
        const at = now - 250 + seconds * 1_000;
        const from = now - 250 - fraction;
        expect(from + Number(retryAfterMs(new Date(at).toUTCString(), from))).toBe(Math.max(at, from + 1_000));
      }),
    );
  });

  it('of any text is undefined or between a second and a day', () => {
    fc.assert(
      fc.property(fc.string(), (header) => {
        const ms = retryAfterMs(header, now) ?? 1_000;
        expect(ms >= 1_000 && ms <= 86_400_000).toBe(true);
      }),
    );
  });
});

describe('the retry decision', () => {
  it.each([429, 500, 502, 503, 504])('%i is tried again, after the wait it asks for', (status) => {
    expect(decideRetry(status, '7', now)).toEqual({ retry: true, afterMs: 7_000 });
    expect(decideRetry(status, undefined, now)).toEqual({ retry: true, afterMs: undefined });
  });

  it.each([200, 301, 400, 401, 402, 403, 404, 408, 409, 422, 428, 431, 451])(
    '%i is final, whatever the header',
    (status) => {
      expect(decideRetry(status, '7', now)).toEqual({ retry: false });
    },
  );
});
