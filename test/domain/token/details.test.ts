import { describe, expect, it } from 'vitest';
import { describeLease, emptyLease } from '../../../src/domain/token/lease.js';
import { leaseWith, tokenOf } from './leases.js';

describe('the lease in the Temporal UI', () => {
  it('says that there is no token yet', () => {
    expect(describeLease(emptyLease)).toContain('| token | none yet |');
  });

  it('shows times and the id of the token, never the sealed token', () => {
    const markdown = describeLease(leaseWith(tokenOf('token-1')));
    expect(markdown).toContain('| token | token-1 |');
    expect(markdown).toContain('| expires | 2031-05-01T11:00:00.000Z |');
    expect(markdown).toContain('| tokens so far | 1 |');
    expect(markdown).not.toContain('sealed');
  });

  it('shows why there is none and when it is asked again', () => {
    const failure = {
      code: 'credentialsRejected',
      message: 'Check client id.',
      at: '2031-05-01T10:00:00.000Z',
      retryAt: '2031-05-01T10:01:00.000Z',
    } as const;
    expect(describeLease({ ...emptyLease, failure })).toMatch(
      /^\*\*Attention: credentialsRejected\*\* since 2031-05-01T10:00:00.000Z: Check client id. Asked again from 2031-05-01T10:01:00.000Z\.\n\n\|/,
    );
  });

  // The granted scope comes from the token endpoint and may hold anything.
  it('is not broken by what the service granted', () => {
    const token = { ...tokenOf('token-1'), grantedScope: 'order|<img src=x>' };
    expect(describeLease(leaseWith(token))).not.toContain('<img');
  });
});
