import { expect, it } from 'vitest';
import { emptyLease, renewalReason } from '../../../src/domain/token/lease.js';
import { leaseWith, start, tokenOf } from './leases.js';

const minute = 60_000;

it.each([
  ['before there was a token', emptyLease, 0, 'first'],
  ['while it should serve', leaseWith(tokenOf('a')), 58 * minute, 'rejected'],
  ['shortly before its end', leaseWith(tokenOf('a')), 59 * minute, 'ahead'],
  ['after its end', leaseWith(tokenOf('a')), 60 * minute, 'expired'],
])('the reason of a renewal %s is told by the time', (_, lease, after, reason) => {
  expect(renewalReason(lease, start + after)).toBe(reason);
});
