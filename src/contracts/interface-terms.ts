import type { RideInterface } from '../domain/account.js';
import type { ContractProfile } from './contract-profile.js';

/** How a token request carries its fields. */
export type TokenEncoding = ContractProfile['tokens']['businessEncoding'];

/** What differs between the interfaces of the service. */
interface InterfaceTerms {
  /** The operation that reads one order of this interface. */
  readOperation: keyof ContractProfile['pointers'] & keyof ContractProfile['operations'];
  /** Path of the token endpoint. */
  tokenPath: string;
  tokenEncoding(profile: ContractProfile): TokenEncoding;
  /** Headers of every call but the token request. */
  headers: Readonly<Record<string, string>>;
}

/** The terms of each interface that no profile can change. */
export const interfaceTerms = {
  partner: {
    readOperation: 'orderStatus',
    tokenPath: '/v1/oauth/token',
    tokenEncoding: () => 'urlencoded',
    headers: {},
  },
  business: {
    readOperation: 'orderDetails',
    tokenPath: '/oauth/token',
    tokenEncoding: ({ tokens }) => tokens.businessEncoding,
    headers: { Accept: 'application/json' },
  },
} as const satisfies Record<RideInterface, InterfaceTerms>;
