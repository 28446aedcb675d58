import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { placeOfLongNumber, readJson, shownText } from '../../src/domain/json.js';
import { forAny } from '../support/for-any.js';

const refusal = (message: string) => expect.objectContaining({ name: 'UnreadableJson', message });

describe('JSON that is read', () => {
  it('is in well-formed Unicode', () => {
    expect(readJson('{"a\\ud800":["\\udc00"]}')).toEqual({ 'a\uFFFD': ['\uFFFD'] });
    expect(readJson('"\\\\ud800"')).toBe('\\ud800');
  });

  const unreadable = ['', 'NaN', '\uFEFF1', '{"secret":1', '"\\"', `"${'['.repeat(2_000)}`];
  it.each(unreadable)('is no text such as %#, and the error repeats no part of it', (text) => {
    expect(() => readJson(text)).toThrow(refusal('not JSON'));
  });

  it('has at most 64 levels, or is not parsed', () => {
    const parse = vi.spyOn(JSON, 'parse');
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    for (const text of [nested(65), nested(100_000), '[[],'.repeat(10_000)])
      expect(() => readJson(text)).toThrow(refusal('nested deeper than 64 levels'));
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
    for (const text of [nested(64), `[${'[],'.repeat(100)}{}]`]) expect(() => readJson(text)).not.toThrow();
  });
});

const digits = (most: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: most });
const exponent = fc
  .tuple(fc.constantFrom('e', 'E+', 'e-'), fc.integer({ min: 0, max: 40 }))
  .map((parts) => parts.join(''));
const number = fc
  .tuple(fc.constantFrom('', '-'), digits(30), fc.option(digits(25)), fc.option(exponent))
  .map(([sign, whole, fraction, power]) => {
    const behind = `${fraction === null ? '' : `.${fraction}`}${power ?? ''}`;
    return `${sign}${whole.replace(/^0+(?=.)/, '')}${behind}`;
  });

/** What the reader makes of a number, by another way than its own. */
function expected(written: string): unknown {
  const near = Number(written);
  if (/^-?\d+$/.test(written)) return Number.isSafeInteger(near) ? near : written;
  const digits = written
    .replace(/e.*/i, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '');
  const isShort = (digits.length <= 15 && Number.isFinite(near)) || String(near) === written;
  return Math.abs(near) < 2 ** 32 || isShort ? near : written;
}

function succeeds(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

describe('a number that is read', () => {
  it('is a number where JavaScript keeps it, and else the text of its digits', () => {
    const blank = fc.constantFrom('', ' ', '\n');
    forAny(fc.array(fc.tuple(fc.string(), number, number, blank)), (members) => {
      const texts = members.map(([name, one, two, _]) => `${JSON.stringify(name)}:${_}[${one}${_},{"n":${_}${two}}]`);
      const wanted = members.map(([name, one, two]) => [name, [expected(one), { n: expected(two) }]]);
      expect(readJson(`{${texts.join()}}`)).toStrictEqual(Object.fromEntries(wanted));
    });
  });

  it.each([
    ['9007199254740991', 9007199254740991],
    ['-9007199254740992', '-9007199254740992'],
    ['12345678901234567890', '12345678901234567890'],
    ['10000000000000000000000', '10000000000000000000000'],
    ['1e22', 1e22],
    ['1e400', '1e400'],
    ['-1E+400', '-1E+400'],
    ['1e-400', 0],
    ['-0', -0],
    ['0.30000000000000004', 0.30000000000000004],
    ['52.520006599999998', 52.520006599999995],
    ['52.52000649999999999999999', 52.5200065],
    ['8589934591.123457', 8589934591.123457],
    ['8589934591.1234567', '8589934591.1234567'],
    ['12345678901234.567891', '12345678901234.567891'],
    ['12345678901234.50', 12345678901234.5],
    ['12345678901234567890.0', '12345678901234567890.0'],
    [`0.${'0'.repeat(20)}1e40`, 1e19],
  ])('%s reads as %j', (written, read) => {
    expect(readJson(`[${written},"${written}"]`)).toStrictEqual([read, written]);
    expect(readJson(written)).toStrictEqual(read);
  });

  it('is one for JSON.parse, too', () => {
    const cuts = fc.tuple(
      fc.nat(60),
      fc.nat(3),
      fc.string({ unit: fc.constantFrom(...'012.eE+-"\\{}[],: x'), maxLength: 3 }),
    );
    const whole = fc
      .tuple(fc.string(), number, number)
      .map(([name, one, two]) => `{${JSON.stringify(name)}:[${one},${two}]}`);
    forAny(whole, cuts, (text, [at, length, by]) => {
      const changed = text.slice(0, at) + by + text.slice(at + length);
      const isJson = succeeds(() => JSON.parse(changed));
      expect(succeeds(() => readJson(changed))).toBe(isJson);
    });
  });

  it('keeps its last value under a name that comes twice, and any name', () => {
    const long = '12345678901234567890';
    expect(readJson(`{"a":${long},"a":1,"b":1,"b":${long}}`)).toStrictEqual({ a: 1, b: long });
    const strange = readJson(`{"__proto__":${long},"\\ud800":[${long}]}`) as object;
    expect(Object.entries(strange)).toEqual([
      ['__proto__', long],
      ['\uFFFD', [long]],
    ]);
    expect(Object.getPrototypeOf(strange)).toBe(Object.prototype);
  });
});

describe('the place of a long number', () => {
  it.each([
    ['{"a":[{"b":12345678901234567890}]}', '.a[0].b'],
    ['{"b":"12345678901234567890","c":"\\ud800","n":null,"a":1e400}', '.a'],
    ['{"a":"12345678901234567890","b":[1.5,-9007199254740991]}', undefined],
  ])('in %s is %s', (text, place) => {
    expect(placeOfLongNumber(readJson(text))).toBe(place);
  });

  it.each([2 ** 53, -1e300, Number.NaN, Number.NEGATIVE_INFINITY])('is that of %d, made in JavaScript', (value) => {
    expect(placeOfLongNumber({ a: [value] })).toBe('.a[0]');
  });
});

it('shows any text on one line, well-formed and without characters that steer', () => {
  expect(shownText('a\u0000b\u202Ec\nd\uD800e\u{1F695}')).toBe('a\uFFFDb\uFFFDc\uFFFDd\uFFFDe\u{1F695}');
});
