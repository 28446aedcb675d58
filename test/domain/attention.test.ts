import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attentionCodes, concernCodes, readConcern, toConcern, troubleCodes } from '../../src/domain/attention.js';
import { forAny } from '../support/for-any.js';

const attentionOf = (code: (typeof attentionCodes)[number]) => ({
  code,
  message: 'why',
  since: '2031-05-01T10:00:00Z',
});

describe('attention', () => {
  it('is about the plumbing or about the ride, never about both', () => {
    expect(new Set(attentionCodes).size).toBe(troubleCodes.length + concernCodes.length);
    for (const code of concernCodes) expect(toConcern(attentionOf(code))).toEqual(attentionOf(code));
    for (const code of troubleCodes) expect(toConcern(attentionOf(code))).toBeNull();
    expect(toConcern(null)).toBeNull();
  });

  it('about a ride is read from what any program may send, and anything else is none', () => {
    expect(readConcern(attentionOf('latePickup'))).toEqual(attentionOf('latePickup'));
    const code = fc.constantFrom<unknown>(...attentionCodes, 'toString', 7, null);
    const like = fc.record({ code, message: fc.anything(), since: fc.anything() }, { requiredKeys: [] });
    forAny(fc.oneof(fc.anything(), like), (given) => {
      const read = readConcern(given);
      if (read === null) return;
      expect(concernCodes).toContain(read.code);
      for (const text of [read.message, read.since]) expect(typeof text).toBe('string');
    });
  });
});
