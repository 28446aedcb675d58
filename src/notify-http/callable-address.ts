import ipaddr from 'ipaddr.js';

/** Ranges of networks that are somebody's own. Link-local stays out: cloud providers keep credentials of machines there. */
const privateRanges: readonly string[] = ['private', 'uniqueLocal', 'loopback', 'carrierGradeNat'];

/** May this IP address be called? `unicast` is what is left of all addresses when the special ranges are taken away. */
export function isCallableAddress(address: string, { allowsPrivate }: { allowsPrivate: boolean }): boolean {
  if (!ipaddr.isValid(address)) return false;
  const range = ipaddr.process(address).range(); // of an IPv4 address in IPv6 clothes: that of the IPv4 address
  return range === 'unicast' || (allowsPrivate && privateRanges.includes(range));
}
