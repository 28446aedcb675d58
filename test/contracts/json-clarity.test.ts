import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isClear } from '../../src/contracts/json-clarity.js';
import type { JsonObject } from '../../src/contracts/json-object.js';

const isClearText = (text: string) => isClear(Buffer.from(text), JSON.parse(text) as JsonObject);

describe('a body', () => {
  it('is clear whatever it says', () => {
    const strange = new Set(['__proto__', 'prototype', 'constructor']);
    const name = fc.string({ unit: fc.constantFrom('a', ':', '"', '\\', '{', ']', 'é', '\u{1F695}') });
    const json = fc.dictionary(fc.oneof(name, fc.string()), fc.jsonValue({ maxDepth: 5 }));
    fc.assert(
      fc.property(json, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        fc.pre([...strange].every((one) => !text.includes(one)));
        expect(isClearText(text)).toBe(true);
      }),
    );
  });

  it.each([
    ['a name twice', '{"a":1,"a":2}'],
    ['a name twice, once written in another way', '{"a":1,"\\u0061":2}'],
    ['a name twice, deep inside', '{"b":[{"c":{"a":1,"a":1}}]}'],
    ['a name twice in an object that is lost by that', '{"a":{"b":1},"a":{}}'],
    ['the name of a prototype', '{"__proto__":{}}'],
    ['the name of a prototype, written in another way', '{"\\u005f_proto__":1}'],
    ['the name of a constructor', '{"a":{"constructor":{"prototype":{}}}}'],
    ['too many levels', `{"a":${'['.repeat(32)}${']'.repeat(32)}}`],
    ['levels without end', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ])('is not clear with %s', (_, text) => {
    expect(isClearText(text)).toBe(false);
  });

  it('is clear with brackets and colons in its texts, and as deep as may be', () => {
    expect(isClearText('{"a":"{[:\\"{[:","b":":"}')).toBe(true);
    expect(isClearText(`{"a":${'['.repeat(31)}${']'.repeat(31)}}`)).toBe(true);
  });
});
