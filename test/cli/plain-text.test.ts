import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shownBody } from '../../src/cli/delivery/parked.js';
import { asShown, clip, paint, toJsonLine, utc } from '../../src/cli/text.js';

const steering = /[\p{C}\p{Zl}\p{Zp}]/u;

describe('text of others', () => {
  it('is cut by characters and marked', () => {
    expect(clip('🚕🚕🚕🚕', 3)).toBe('🚕🚕…');
    expect(clip('\u001bŻó', 3)).toBe('\uFFFDŻó');
  });

  it('is on one line of JSON, which means the same to a parser', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const line = toJsonLine({ text });
        expect(line).not.toMatch(steering);
        expect(JSON.parse(line)).toEqual({ text });
      }),
    );
  });
});

it('an instant is shown in UTC, and any other text as plain text', () => {
  expect(utc('2026-05-01T10:30:00.999+02:00')).toBe('2026-05-01 08:30:00');
  expect(utc('so\u001bon')).toBe('so\uFFFDon');
});

it('the command line uses colour at a terminal only, and never with NO_COLOR', () => {
  const text = paint('bad', 'wrong');
  expect(text).toContain('\u001b[31m');
  for (const noColour of [undefined, '']) expect(asShown(text, true, noColour)).toBe(text);
  expect([asShown(text, true, '1'), asShown(text, false, undefined)]).toEqual(['wrong', 'wrong']);
});

describe('the body of a parked delivery as it is shown', () => {
  const secret = '0d7a5c1e-2f43-4b8e-9c55-7d1f2a3b4c5d';

  it.each([
    ['a known secret anywhere', `{"note":"x ${secret} y"}`, '{"note":"x [secret] y"}'],
    ['a field that is called a secret', '{"secret_id" : "unknown", "a":1}', '{"secret_id" : "[secret]", "a":1}'],
    ['a secret with an escaped quote', '{"clientSecret":"a\\"b","c":2}', '{"clientSecret":"[secret]","c":2}'],
    ['a secret that is a number', '{"secret":12345}', '{"secret":"[secret]"}'],
    ['an object, and what follows it', '{"a":1,"secrets": {"b": "x"}, "c":1}', '{"a":1,"secrets": "[secret]"'],
    ['a list, and what follows it', '{"client_secrets":["a"],"c":2}', '{"client_secrets":"[secret]"'],
    [
      'a secret in a text that holds JSON',
      JSON.stringify({ message: JSON.stringify({ secret_id: 'ab"c', a: { token_secret: 7 } }), b: 1 }),
      String.raw`{"message":"{\"secret_id\":"[secret]"`,
    ],
    ['a secret that is cut off', '{"secret":"a", "b_secret":"x', '{"secret":"[secret]", "b_secret":"[secret]"'],
  ])('hides %s', (_, body, shown) => {
    expect(shownBody(body, [secret])).toBe(shown);
  });

  const base64 = (value: object, encoding: 'base64' | 'base64url' = 'base64') =>
    Buffer.from(JSON.stringify(value)).toString(encoding);
  const unknown = { order_id: '71000123', client_secret: 'unknown?>~', note: 'ÿÿÿ???>>>' };
  const escaped = base64(unknown).replaceAll('/', '\\/');

  it.each([
    ['with a field that is called a secret', base64(unknown)],
    ['in the alphabet of URLs, without padding', base64(unknown, 'base64url')],
    ['with escaped slashes', escaped],
    ['with a known secret under any name', base64({ note: `x ${secret} y` })],
    ['that holds another one', base64({ data: base64({ data: base64(unknown) }) })],
    ['of a known secret alone', Buffer.from(secret).toString('base64')],
  ])('hides a text in base64 %s', (_, text) => {
    const line = '\\n'; // as it stands in JSON
    for (const before of ['', 'data:application/json;base64,', line])
      expect(shownBody(`{"message":"${before}${text}","b":1}`, [secret])).toBe(`{"message":"${before}[secret]","b":1}`);
  });

  const harmless = base64({ order_id: '71000123', status: 'Driving' });
  it.each([
    ...[`{"message":"${harmless}"}`, '{"id":"3a5d1f9e-8f7a-4a2b-9c3d-0b1e2f3a4b5c"}', 'c2VjcmV0 secrets/of/any/kind'],
    ...['{"order":{"status":"Driving"}}', 'plain text', ''],
  ])('leaves %j as it came', (body) => {
    expect(shownBody(body, [secret])).toBe(body);
  });
});
