import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readIncomingJson } from '../../src/contracts/json.js';
import { forAny } from '../support/for-any.js';

const readText = (text: string) => readIncomingJson(Buffer.from(text));
const flawOf = (text: string) => readText(text)?.flaw;

describe('JSON of the service', () => {
  it('is read whatever it says', () => {
    const strange = new Set(['__proto__', 'prototype', 'constructor']);
    const name = fc.string({ unit: fc.constantFrom('a', ':', '"', '\\', '{', ']', 'é', '\u{1F695}') });
    const json = fc.dictionary(fc.oneof(name, fc.string()), fc.jsonValue({ maxDepth: 5 }));
    forAny(json, fc.constantFrom(undefined, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      fc.pre([...strange].every((one) => !text.includes(one)));
      expect(readText(text)).toEqual({ value: JSON.parse(text), flaw: null });
    });
  });

  it.each([
    ['a name twice', '{"a":1,"a":2}'],
    ['a name twice, once written in another way', '{"a":1,"\\u0061":2}'],
    ['a name twice, deep inside', '{"b":[{"c":{"a":1,"a":1}}]}'],
    ['a name twice in an object that is lost by that', '{"a":{"b":1},"a":{}}'],
    ['the name of a prototype', '{"__proto__":{}}'],
    ['the name of a prototype, written in another way', '{"\\u005f_proto__":1}'],
    ['the name of a constructor', '{"a":{"constructor":{"prototype":{}}}}'],
  ])('is ambiguous with %s', (_, text) => {
    expect(flawOf(text)).toBe('AMBIGUOUS');
  });

  it('is too deep beyond 64 levels, without end too', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect([64, 65, 100_000].map(nested).map(flawOf)).toEqual([null, 'TOO_DEEP', 'TOO_DEEP']);
  });

  it('is too much beyond 100,000 members or elements', () => {
    const members = (count: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, i) => [i, 0])));
    expect([100_000, 100_001].map(members).map(flawOf)).toEqual([null, 'TOO_MANY']);
    expect(flawOf(JSON.stringify(Array.from({ length: 100_002 }, () => 0)))).toBe('TOO_MANY');
  });

  it('is clear with brackets, colons and commas in its texts', () => {
    expect(flawOf('{"a":"{[:,\\"{[:,","b":":"}')).toBe(null);
  });

  it('has well-formed texts and names alone', () => {
    const { value } = readText('{"a\\ud800":["\\udc00b","\\ud83d\\ude95"]}') ?? {};
    expect(value).toEqual({ 'a\uFFFD': ['\uFFFDb', '\u{1F695}'] });
    expect(flawOf('{"\\ud800":1,"\\ud801":2}')).toBe('AMBIGUOUS');
  });

  it('may begin with a byte order mark, and bytes that are no UTF-8 become U+FFFD unless that is refused', () => {
    expect(readText('\uFEFF{"a":1}')?.value).toEqual({ a: 1 });
    const broken = Buffer.from('7b2261223a22ff227d', 'hex');
    expect(readIncomingJson(broken)).toEqual({ value: { a: '\uFFFD' }, flaw: null });
    expect(readIncomingJson(broken, { mustBeUtf8: true })).toBeUndefined();
  });

  it.each(['', 'NaN', '{"a":NaN}', '{"a":1', "{'a':1}", '['.repeat(100_000), '{"a":"\u0000"}'])('is not %#', (text) => {
    expect(readText(text)).toBeUndefined();
  });

  it('takes time in proportion to its size', () => {
    const size = 300_000;
    const hostile = ['[', '{"a":', '"\\ud800",', '{"":0},', '\\', '"', '[[],'];
    for (const piece of hostile) {
      const text = piece.repeat(size / piece.length);
      const begun = performance.now();
      readText(text);
      readText(`[${text.replace(/,$/, '')}]`);
      expect(performance.now() - begun).toBeLessThan(5_000);
    }
  });
});
