import { describe, expect, it } from 'vitest';
import * as s from '../../src/domain/schema.js';

const inner = { count: s.positive, note: s.optional(s.text()), gone: s.nullable(s.flag) };

describe('an input', () => {
  const schema = s.inputOf({ name: s.text(), rows: s.listOf(s.inputOf(inner)) });

  it('has null left out where it means "not set", and kept where it is a value', () => {
    const given = { name: 'a', rows: [{ count: 1, note: null, gone: null }] };
    expect(schema.read(given, '')).toEqual({ name: 'a', rows: [{ count: 1, gone: null }] });
  });

  it.each([
    [{}, 'name: must be a text of 1 to 200 characters'],
    [{ name: 'a', rows: [{ count: 0, gone: null }] }, 'rows[0].count: must be a positive whole number'],
    [{ name: 'a', rows: [{ count: 1 }] }, 'rows[0].gone: must be true or false'],
    [{ name: 'a', rows: [{ count: 1, gone: true, x: 1 }] }, 'rows[0]: unknown field "x"; known are count, note, gone'],
    [[], 'input: must be a JSON object'],
  ])('that is %j is refused with the place of the fault', (given, message) => {
    expect(() => schema.read(given, '')).toThrow(message);
  });
});

it('an answer is read without the fields that a later release adds, at every level', () => {
  const schema = s.answerOf({ word: s.answered(), rows: s.listOf(s.answerOf(inner)) });
  const given = { word: 'a', later: 1, rows: [{ count: 1, gone: false, later: 1 }] };
  expect(schema.read(given, '')).toEqual({ word: 'a', rows: [{ count: 1, gone: false }] });
});
