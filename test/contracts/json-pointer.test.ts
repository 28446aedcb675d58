import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parentPointer, valueAt } from '../../src/contracts/json.js';
import { forAny } from '../support/for-any.js';

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
