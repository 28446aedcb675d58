import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSameStatus, rideStatuses, statusKey, toRideStatus } from '../../../src/domain/order/status.js';
import { forAny } from '../../support/for-any.js';

/** The known statuses, in the spelling of the service. */
const statuses = [
  'Pending',
  'Reserved',
  'Unreserved',
  'Routing',
  'Confirmed',
  'Waiting',
  'Driving',
  'Completed',
  'Cancelled',
  'Rejected',
  'CareReq',
  'ActiveOrder',
];

const inWords = (status: string): string[] => status.split(/(?=[A-Z])/);

const separators = fc.stringMatching(/^[ _-]{0,2}$/);
/** Any spelling that counts as the same: letter case, blanks, `_` and `-` do not count. */
const spellingsOf = (status: string): fc.Arbitrary<string> =>
  fc.array(fc.tuple(fc.boolean(), separators), { minLength: status.length, maxLength: status.length }).map((marks) =>
    [...status]
      .map((letter, index) => {
        const [isUpper, separator] = marks[index] ?? [false, ''];
        return `${isUpper ? letter.toUpperCase() : letter.toLowerCase()}${separator}`;
      })
      .join(''),
  );

describe('a known status', () => {
  it('is each of the twelve', () => {
    expect([...rideStatuses]).toEqual(statuses);
  });

  it.each(statuses)('%s is recognised in upper and lower case, with blanks, "_" and "-"', (status) => {
    const words = inWords(status);
    const spellings = [status, status.toUpperCase(), status.toLowerCase()].concat(
      [' ', '_', '-'].map((separator) => words.join(separator)),
    );
    for (const spelling of spellings) {
      expect(toRideStatus(spelling)).toBe(status);
      expect(isSameStatus(spelling, status)).toBe(true);
    }
  });

  it('is recognised in any spelling', () => {
    const pairs = fc.constantFrom(...statuses).chain((status) => fc.tuple(fc.constant(status), spellingsOf(status)));
    forAny(pairs, ([status, spelling]) => {
      expect(toRideStatus(spelling)).toBe(status);
    });
  });

  it.each(['canceled', 'Canceled', 'CANCELED', 'can_celed'])('Cancelled may be spelt %j', (word) => {
    expect(toRideStatus(word)).toBe('Cancelled');
    expect(isSameStatus(word, 'cancelled')).toBe(true);
  });

  it('is no other known status', () => {
    expect(new Set(statuses.map(statusKey)).size).toBe(statuses.length);
  });
});

describe('an unknown status', () => {
  const words = ['Finished', ' on hold ', 'CANCELLED_BY_DRIVER', 'Re-routing', '', 'constructor', '__proto__'];
  it.each(words)('%j stays the word it came as', (word) => {
    expect(toRideStatus(word)).toBe(word);
  });

  it('is the same as itself in another spelling', () => {
    expect(isSameStatus('On hold', 'on_HOLD')).toBe(true);
    expect(isSameStatus('On hold', 'On-hold!')).toBe(false);
  });
});

describe('a status with characters that cannot be shown or indexed', () => {
  it.each([
    ['Dri\u0000ving', 'Dri\uFFFDving'],
    ['Dri\uD800ving', 'Dri\uFFFDving'],
    ['\u202Egnivird', '\uFFFDgnivird'],
    ['\u001B[31mred', '\uFFFD[31mred'],
    ['on\nhold\tstill', 'on hold still'],
  ])('%j is shown as %j', (word, shown) => {
    expect(toRideStatus(word)).toBe(shown);
  });

  it('is the same status as what is shown of it, and never a known one by losing characters', () => {
    forAny(fc.string({ unit: 'binary', maxLength: 20 }), (word) => {
      expect(toRideStatus(word)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u);
      expect(isSameStatus(toRideStatus(word), word)).toBe(true);
      expect(toRideStatus(toRideStatus(word))).toBe(toRideStatus(word));
    });
    expect(isSameStatus('Comp\u0000leted', 'Completed')).toBe(false);
  });
});

it.each([
  [null, null, true],
  [null, 'Pending', false],
  ['Pending', null, false],
  [null, '', false],
])('no status yet is the same only as no status: %j and %j, %s', (one, other, isSame) => {
  expect(isSameStatus(one, other)).toBe(isSame);
});
