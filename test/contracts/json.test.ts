import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { parentPointer, readIncomingJson, valueAt } from '../../src/contracts/json.js';
import { placeOfLongNumber } from '../../src/domain/json.js';
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
      fc.pre(placeOfLongNumber(value) === undefined);
      fc.pre([...strange].every((one) => !text.includes(one)));
      expect(readText(text)).toEqual({ value: JSON.parse(text), flaw: null });
    });
  });

  it.each([
    ['a name twice with long numbers', '{"a":12345678901234567890,"a":12345678901234567890}'],
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

  it('is too deep beyond 64 levels, and beyond 1,000 not parsed, which would damage the memory of Node 26', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect([64, 65, 1_000].map(nested).map(flawOf)).toEqual([null, 'TOO_DEEP', 'TOO_DEEP']);
    const parse = vi.spyOn(JSON, 'parse');
    expect([1_001, 100_000].map(nested).map(readText)).toEqual(Array(2).fill({ value: {}, flaw: 'TOO_DEEP' }));
    expect(readText('[[],'.repeat(75_000))).toEqual({ value: [], flaw: 'TOO_DEEP' });
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it('is too much beyond 100,000 members or elements', () => {
    const elements = (count: number) => Array.from({ length: count }, () => 0);
    const members = (count: number) => ({ ...elements(count) });
    const large = [members(100_000), members(100_001), elements(100_002)];
    expect(large.map((one) => flawOf(JSON.stringify(one)))).toEqual([null, 'TOO_MANY', 'TOO_MANY']);
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

  it.each(['', 'NaN', '{"a":NaN}', '{"a":1', "{'a':1}", '['.repeat(1_000), '{"a":"\u0000"}'])('is not %#', (text) => {
    expect(readText(text)).toBeUndefined();
  });

  it('takes time in proportion to its size', () => {
    const size = 300_000;
    const numbers = ['1', '0.', '12345678901234567890,', '1e400,', '1e9,', '12345678901.12345678,'];
    const hostile = ['[', '{"a":', '"\\ud800",', '{"":0},', '\\', '"', '[[],', ...numbers];
    for (const piece of hostile) {
      const text = piece.repeat(size / piece.length);
      const before = process.cpuUsage();
      readText(text);
      readText(`[${text.replace(/,$/, '')}]`);
      readText(`0.${'0'.repeat(size)}${text}e${size + 12}`);
      expect(process.cpuUsage(before).user / 1_000, 'ms of CPU, however busy the machine').toBeLessThan(5_000);
    }
  });
});

// RFC 6901 section 5, word for word.
const rfcDocument = JSON.parse(
  '{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\\\j":5,"k\\"l":6," ":7,"m~n":8}',
);
const rfcExamples: [string, unknown][] = [
  ['', rfcDocument],
  ['/foo', ['bar', 'baz']],
  ['/foo/0', 'bar'],
  ['/', 0],
  ['/a~1b', 1],
  ['/c%d', 2],
  ['/e^f', 3],
  ['/g|h', 4],
  ['/i\\j', 5],
  ['/k"l', 6],
  ['/ ', 7],
  ['/m~0n', 8],
];

describe('a JSON pointer', () => {
  it.each(rfcExamples)('%j reads what RFC 6901 says', (pointer, value) => {
    expect(valueAt(rfcDocument, pointer)).toEqual(value);
  });

  const toNothing = ['foo', '/foo/2', '/foo/-', '/foo/00', '/foo/length', '/m~2n', '/m~', '/foo/0/0', '/no/where'];
  const toInherited = ['__proto__', 'constructor', 'constructor/name', 'toString', 'foo/constructor', 'foo/0/length'];
  it.each([...toNothing, ...toInherited.map((path) => `/${path}`)])('%j reads nothing', (pointer) => {
    expect(valueAt(rfcDocument, pointer)).toBeUndefined();
  });

  it('reads a property that is really called __proto__', () => {
    expect(valueAt(JSON.parse('{"__proto__":{"a":1}}'), '/__proto__/a')).toBe(1);
  });

  it('finds any key of any object by its escaped name', () => {
    forAny(fc.string(), fc.jsonValue(), (key, value) => {
      const document = Object.fromEntries([[key, value]]);
      expect(valueAt(document, `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)).toStrictEqual(value);
    });
  });

  it('reads "~01" as the text "~1", not as a slash', () => {
    expect(valueAt({ '~1': 'right', '/': 'wrong' }, '/~01')).toBe('right');
  });

  it('never throws, whatever the document and the pointer', () => {
    forAny(fc.jsonValue(), fc.string(), (document, pointer) => void valueAt(document, pointer));
  });

  it('knows its parent', () => {
    expect(['/data/order/status', '/status', ''].map(parentPointer)).toEqual(['/data/order', '', '']);
  });
});
