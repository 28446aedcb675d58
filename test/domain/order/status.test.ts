import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSameStatus, rideStatuses, statusKey, toRideStatus } from '../../../src/domain/order/status.js';
import { forAny } from '../../support/for-any.js';

/** The known statuses, in the spelling that users see. */
const statuses =
  'Pending Reserved Unreserved Routing Confirmed Waiting Driving Completed Cancelled Rejected CareReq ActiveOrder'.split(
    ' ',
  );

const letterMarks = fc.tuple(fc.boolean(), fc.stringMatching(/^[ _-]{0,2}$/));
/** Any spelling that counts as the same: letter case, blanks, `_` and `-` do not count. */
const spellingsOf = (status: string): fc.Arbitrary<string> =>
  fc.tuple(...[...status].map(() => letterMarks)).map((marks) =>
    marks
      .map(([isUpper, separator], index) => {
        const letter = status.charAt(index);
        return (isUpper ? letter.toUpperCase() : letter.toLowerCase()) + separator;
      })
      .join(''),
  );

describe('a known status', () => {
  it('is each of the twelve, and no two are the same', () => {
    expect([...rideStatuses]).toEqual(statuses);
    expect(new Set(statuses.map(statusKey)).size).toBe(statuses.length);
  });

  it.each([...statuses, 'Canceled'])('%s is recognised in upper and lower case, with blanks, "_" and "-"', (word) => {
    const status = word === 'Canceled' ? 'Cancelled' : word;
    forAny(spellingsOf(word), (spelling) => {
      expect(toRideStatus(spelling)).toBe(status);
      expect(isSameStatus(spelling, status)).toBe(true);
    });
  });
});

const words = ['Finished', ' on hold ', 'CANCELLED_BY_DRIVER', 'Re-routing', '', 'constructor', '__proto__'];
it.each(words)('an unknown status %j stays the word it came as', (word) => {
  expect(toRideStatus(word)).toBe(word);
});

describe('a status with characters that cannot be shown or indexed', () => {
  it.each([
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
  ['On hold', 'on_HOLD', true],
  ['On hold', 'On-hold!', false],
  [null, null, true],
  [null, 'Pending', false],
  ['Pending', null, false],
  [null, '', false],
])('an unknown status or none is the same as itself alone: %j and %j, %s', (one, other, isSame) => {
  expect(isSameStatus(one, other)).toBe(isSame);
});
