import { describe, expect, it } from 'vitest';
import { withoutColour } from '../../src/cli/text.js';
import { tokensText, toListedToken } from '../../src/cli/token.js';
import { toAccountName, toScope } from '../../src/domain/keys.js';
import { emptyLease, type TokenLease } from '../../src/domain/token/lease.js';

const key = { account: toAccountName('partner'), scope: toScope('demand_partner'), credentialId: '0123456789abcdef' };
const lease: TokenLease = {
  ...emptyLease,
  token: {
    id: 'token-id',
    sealed: 'eyJ.sealed.text',
    requestedAt: '2026-05-01T08:00:00.000Z',
    renewAt: '2026-05-01T08:59:00.000Z',
    expiresAt: '2026-05-01T09:00:00.000Z',
    grantedScope: 'demand_partner',
  },
  renewals: 3,
};
const failure = {
  code: 'credentialsRejected',
  message: 'check the client secret.',
  at: '2026-05-01T08:30:00.000Z',
  retryAt: '2026-05-01T08:31:00.000Z',
} as const;
const at = (time: string) => Date.parse(`2026-05-01T${time}Z`);
const stateAt = (time: string, of: TokenLease | null = lease, isOpen = true) =>
  toListedToken(key, of, { isOpen }, at(time)).state;

describe('the state of a token', () => {
  it('follows its times', () => {
    expect(stateAt('08:30:00')).toBe('serving');
    expect(stateAt('08:59:30')).toBe('renewalDue');
    expect(stateAt('09:00:00')).toBe('expired');
  });

  it('is failed while a failure stands, waiting before the first answer, ended with its run', () => {
    expect(stateAt('08:30:00', { ...lease, failure })).toBe('failed');
    expect(stateAt('08:30:00', null)).toBe('waiting');
    expect(stateAt('08:30:00', emptyLease)).toBe('waiting');
    expect(stateAt('08:30:00', lease, false)).toBe('ended');
  });
});

describe('the list of tokens', () => {
  const listed = toListedToken(key, { ...lease, failure }, { isOpen: true }, at('08:30:00'));

  it('is one line for each token, with the reason of a failure below, and shows no sealed text', () => {
    expect(JSON.stringify(listed)).not.toMatch(/sealed|eyJ/);
    expect(tokensText([listed], withoutColour).split('\n')).toEqual([
      'account  scope           state                        obtained (UTC)       expires (UTC)        so far',
      'partner  demand_partner  failed: credentialsRejected  2026-05-01 08:00:00  2026-05-01 09:00:00  3',
      '',
      'partner: check the client secret. Tried again from 2026-05-01 08:31:00 UTC.',
    ]);
  });

  it('calls the token without scope by its name, and says when there is none at all', () => {
    const unscoped = { ...listed, scope: toScope('') };
    expect(tokensText([unscoped], withoutColour)).toContain('unscoped');
    expect(tokensText([], withoutColour)).toContain('No token');
  });
});
