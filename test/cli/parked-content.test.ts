import { describe, expect, it } from 'vitest';
import { withoutSecrets } from '../../src/cli/delivery/view.js';

const secret = '0d7a5c1e-2f43-4b8e-9c55-7d1f2a3b4c5d';

describe('the body of a parked delivery as it is shown', () => {
  it.each([
    ['a known secret anywhere', `{"note":"x ${secret} y"}`, '{"note":"x [secret] y"}'],
    ['a field that calls itself a secret', '{"secret_id" : "unknown", "a":1}', '{"secret_id" : "[secret]", "a":1}'],
    ['one with an escaped quote', '{"clientSecret":"a\\"b","c":2}', '{"clientSecret":"[secret]","c":2}'],
    ['one that is no text', '{"secret":12345}', '{"secret":"[secret]"}'],
    ['one that is an object', '{"secrets": {"a": "x", "b": ["}"]}, "c":1}', '{"secrets": "[secret]", "c":1}'],
    ['one that is a list', '{"client_secrets":["a\\"]", "b"],"c":2}', '{"client_secrets":"[secret]","c":2}'],
    ['one that is cut off', '{"secret":["a", "b', '{"secret":"[secret]"'],
  ])('hides %s', (_, body, shown) => {
    expect(withoutSecrets(body, [secret])).toBe(shown);
  });

  it('leaves all else as it came, also what is no JSON', () => {
    for (const body of ['{"order":{"status":"Driving"}}', 'plain text', ''])
      expect(withoutSecrets(body, [secret])).toBe(body);
  });
});
