import { expect, it } from 'vitest';
import { isCallableAddress } from '../../src/notify-http/sender.js';

const may = (address: string) => [false, true].map((allowsPrivate) => isCallableAddress(address, { allowsPrivate }));

it.each(['8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8'])('%s may be called', (address) => {
  expect(may(address)).toEqual([true, true]);
});

const inV4 = ['127.0.0.1', '127.9.9.9', '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1'];
const inV6 = ['::1', 'fd00::1', '::ffff:10.0.0.1', '::ffff:7f00:1'];
it.each([...inV4, ...inV6])('%s may be called only where private addresses are allowed', (address) => {
  expect(may(address)).toEqual([false, true]);
});

const cloudCredentials = '169.254.169.254';
const loopbackBehindNat64 = '64:ff9b::7f00:1';
const loopbackBehind6to4 = '2002:7f00:1::';
it.each([
  ...[cloudCredentials, 'fe80::1', 'fe80::1%eth0', '0.0.0.0', '::', '255.255.255.255', '224.0.0.1', 'ff02::1'],
  ...['192.0.0.8', '198.18.0.1', '2001:db8::1', loopbackBehindNat64, loopbackBehind6to4, 'nonsense', ''],
])('%j may never be called', (address) => {
  expect(may(address)).toEqual([false, false]);
});
