import { expect } from 'vitest';
import type { Account } from '../../src/domain/account.js';
import { toAccountName } from '../../src/domain/keys.js';
import { defaultWatch } from '../../src/domain/order/concern.js';
import type { ApiReply } from '../../src/ride-api/http.js';

const shared = {
  clientId: 'client-1',
  clientSecret: 'very secret & odd+value',
  requestsPerSecond: 10,
  poll: { activeMs: 1_000, reservedMs: 1_000, pushedMs: 1_000 },
  watch: defaultWatch,
  untracked: 'follow',
} as const;

export const partnerAccount = (baseUrl = 'https://partner.example'): Account => ({
  ...{ ...shared, name: toAccountName('partner'), interface: 'partner', baseUrl, authUrl: baseUrl },
});

export const businessAccount = (baseUrl = 'https://business.example', authUrl = 'https://auth.example'): Account => ({
  ...{ ...shared, name: toAccountName('business'), interface: 'business', baseUrl, authUrl },
  businessId: '11111111-2222-4333-8444-555555555555',
});

/** A reply of the service, to be interpreted. */
export const answer = (status: number, body?: unknown, headers = {}): ApiReply => ({ status, headers, body });

/** Matches an error by its class, its code and more of its fields. */
export const failure = (name: string, code: string, rest = {}) => expect.objectContaining({ name, code, ...rest });
