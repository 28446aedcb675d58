import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { readJson, shownText } from '../../src/domain/json.js';
import { forAny } from '../support/for-any.js';

const refusal = (message: string) => expect.objectContaining({ name: 'UnreadableJson', message });

describe('JSON that is read', () => {
  it('is what it says, in well-formed Unicode', () => {
    const json = fc.jsonValue({ maxDepth: 5 });
    forAny(json, (value) => {
      const text = JSON.stringify(value); // which writes -0 as 0
      expect(readJson(text)).toEqual(JSON.parse(text));
    });
    expect(readJson('{"a\\ud800":["\\udc00"]}')).toEqual({ 'a\uFFFD': ['\uFFFD'] });
    expect(readJson('"\\\\ud800"')).toBe('\\ud800');
  });

  const unreadable = ['', 'NaN', '\uFEFF1', '{"secret":1', '"\\"', `"${'['.repeat(2_000)}`, '['.repeat(1_000)];
  it.each(unreadable)('is no text such as %#, and the error repeats no part of it', (text) => {
    expect(() => readJson(text)).toThrow(refusal('not JSON'));
  });

  it('is not parsed beyond 1,000 levels', () => {
    const parse = vi.spyOn(JSON, 'parse');
    expect(() => readJson('[[],'.repeat(10_000))).toThrow(refusal('nested deeper than 64 levels'));
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it('has at most 64 levels', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(() => readJson(nested(64))).not.toThrow();
    for (const levels of [65, 100_000])
      expect(() => readJson(nested(levels))).toThrow(refusal('nested deeper than 64 levels'));
  });
});

it('shows any text on one line, well-formed and without characters that steer', () => {
  expect(shownText('a\u0000b\u202Ec\nd\uD800e\u{1F695}')).toBe('a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\u{1F695}');
});
