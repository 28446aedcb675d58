import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createNotifySender, isCallableAddress } from '../../src/notify-http/sender.js';
import { forAny } from '../support/for-any.js';

/** https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry, updated 2025-10-09. */
const special = {
  v4: `0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29
    192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
    192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
    240.0.0.0/4 255.255.255.255/32`,
  v6: `::1/128 ::/128 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32
    2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28
    2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10`,
};
/** RFC 5771 and RFC 4291; IPv4 in IPv6 (RFC 4291 section 2.5.5.1), in NAT (RFC 2765), site-local, outside 2000::/3. */
const others = '224.0.0.0/4 ff00::/8 ::/96 ::ffff:0:0:0/96 fec0::/10 4000::/3 200::/7 1000::/4';
/** Of a network that may be one's own. IPv4 in IPv6 counts as what it stands for. */
const privateBlocks = new Set(
  '10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7'.split(' '),
);

const blocks = `${special.v4} ${special.v6} ${others}`.split(/\s+/);
const readable = blocks.filter((block) => block !== '::ffff:0:0/96');
const within = (block: string, filler: Uint8Array): string => {
  const [network, bits] = ipaddr.parseCIDR(block);
  const bytes = network.toByteArray().map((byte, index) => {
    const fixed = Math.min(Math.max(bits - index * 8, 0), 8);
    const mask = (0xff << (8 - fixed)) & 0xff;
    return (byte & mask) | ((filler[index] ?? 0) & ~mask & 0xff);
  });
  return ipaddr.fromByteArray(bytes).toString();
};
const metadata = [
  ...['168.63.129.16', '169.254.169.254', '169.254.170.2', '100.100.100.200', '192.0.0.192'],
  ...['fd00:ec2::254', 'fd00:ec2::253', 'fd00:ec2::23', 'fd00:ec2:ffff::1', 'fd20:ce::254'],
];
const v4Within = (address: string): number[] => ipaddr.IPv4.parse(address).toByteArray();
/** The ways to write an IPv4 address into an IPv6 one. */
const dressed = (address: string): string[] => {
  const [a = 0, b = 0, c = 0, d = 0] = v4Within(address);
  const [high, low] = [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
  return [
    ...[`::ffff:${address}`, `::ffff:${high}:${low}`, `::${high}:${low}`, `::ffff:0:${high}:${low}`],
    ...[`64:ff9b::${high}:${low}`, `64:ff9b:1::${high}:${low}`, `2002:${high}:${low}::1`, `2001:0:${high}:${low}::1`],
  ];
};

const may = (address: string) => [false, true].map((allowsPrivate) => isCallableAddress(address, { allowsPrivate }));

describe('a notice', () => {
  it.each(readable)('goes to no address of %s, unless such private ones are allowed', (block) => {
    const isPrivate = privateBlocks.has(block);
    forAny(fc.uint8Array({ minLength: 16, maxLength: 16 }), (filler) => {
      const address = within(block, filler);
      const [byDefault, allowed] = may(address);
      expect([address, byDefault]).toEqual([address, false]);
      if (!isPrivate) expect([address, allowed]).toEqual([address, isInPrivate(address)]);
    });
    if (isPrivate) expect(may(within(block, new Uint8Array(16).fill(1)))).toEqual([false, true]);
  });

  it.each([...metadata, ...metadata.filter((one) => one.includes('.')).flatMap(dressed)])(
    'never goes to %s, where a cloud keeps credentials',
    (address) => {
      expect(may(address)).toEqual([false, false]);
    },
  );

  it('goes to a private IPv4 address in IPv6 only as IPv4-mapped', () => {
    const allowed = dressed('10.1.2.3').filter((address) => may(address)[1]);
    expect(allowed).toEqual(['::ffff:10.1.2.3', '::ffff:a01:203']);
  });

  it.each(['8.8.8.8', '::ffff:8.8.8.8', '168.63.129.15', '2606:4700::1111', '2a00:1450:4001::1', '3ffe::1'])(
    'goes to %s',
    (address) => {
      expect(may(address)).toEqual([true, true]);
    },
  );

  it.each(metadata)('goes to no name that stands for %s', async (address) => {
    const family = address.includes('.') ? 4 : 6;
    const lookUp = ((_name: string, _options: object, done: (error: null, found: object[]) => void) =>
      done(null, [{ address, family }])) as never;
    const origins = ['https://receiver.example'];
    const sender = createNotifySender({ origins, secrets: [Buffer.alloc(32, 1)], allowsPrivate: true, lookUp });
    onTestFinished(() => sender.close());
    const notice = { url: 'https://receiver.example/hook', id: 'msg_1', event: {}, at: 0 };
    expect(await sender.send(notice)).toEqual({ kind: 'addressNotAllowed' });
  });
});

/** `::/96` and the like hold the loopback address, too. */
const isInPrivate = (address: string): boolean =>
  [...privateBlocks].some((block) => {
    const [network, bits] = ipaddr.parseCIDR(block);
    const parsed = ipaddr.process(address);
    return parsed.kind() === network.kind() && parsed.match(network as never, bits);
  }) && !metadata.includes(address);
