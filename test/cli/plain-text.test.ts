import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clip, paintFor, plain, toJsonLine, utc, withColour, withoutColour } from '../../src/cli/text.js';

const steering = /[\p{C}\p{Zl}\p{Zp}]/u;

describe('text of others', () => {
  it('keeps letters of all kinds and loses what steers a terminal', () => {
    expect(plain('Żółć 東京 🚕')).toBe('Żółć 東京 🚕');
    expect(plain('a\u001b[31mb\u0085c\u202ed\ne')).toBe('a\uFFFD[31mb\uFFFDc\uFFFDd\uFFFDe');
  });

  it('is cut by characters, with a mark', () => {
    expect(clip('🚕🚕🚕🚕', 3)).toBe('🚕🚕…');
    expect(clip('abc', 3)).toBe('abc');
  });

  it('is on one line of JSON, which means the same to a parser', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const line = toJsonLine({ text });
        expect(line).not.toMatch(steering);
        expect(JSON.parse(line)).toEqual({ text });
      }),
    );
  });
});

it('shows an instant in UTC, and what is none as plain text', () => {
  expect(utc('2026-05-01T10:30:00.999+02:00')).toBe('2026-05-01 08:30:00');
  expect(utc('so\u001bon')).toBe('so\uFFFDon');
});

it('has colour at a terminal only, and never with NO_COLOR', () => {
  expect(paintFor(true, undefined)).toBe(withColour);
  expect(paintFor(true, '')).toBe(withColour);
  expect(paintFor(true, '1')).toBe(withoutColour);
  expect(paintFor(false, undefined)).toBe(withoutColour);
});
