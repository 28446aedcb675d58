import { expect, it } from 'vitest';
import { shownUrl, store } from '../../src/domain/notify/receivers.js';
import { isLoopbackAddress, toOrigin } from '../../src/domain/web-address.js';

it.each([
  ['https://Rides.example/', 'https://rides.example', false],
  ['http://127.10.200.30:81', 'http://127.10.200.30:81', true],
  ['http://localhost', 'http://localhost', true],
  ['https://[::1]', 'https://[::1]', true],
  ['https://127.0.0.1.rides.example', 'https://127.0.0.1.rides.example', false],
  ['https://rides.example/base', undefined, false],
  ['http://rides.example', undefined, false],
])('the origin of %s is %s, of this machine: %s', (given, origin, isOfMachine) => {
  expect(toOrigin(given)).toBe(origin);
  expect(isLoopbackAddress(given)).toBe(isOfMachine);
});

it('of a URL people see the host alone', () => {
  const shown = ['https://rides.example:8443/SECRET', `https://${'a.'.repeat(60)}example`, store].map(shownUrl);
  expect(shown).toEqual(['rides.example:8443', 'a.'.repeat(50), 'the store']);
});
