import type { RideInterface } from '../domain/account.js';
import type { ContractProfile } from './contract-profile.js';

/** How a token request carries its fields. */
export type TokenEncoding = ContractProfile['tokens']['businessEncoding'];

/** What differs from one interface of the service to the other. */
interface InterfaceTerms {
  /** The operation that reads one order: each order is read at the interface it belongs to. */
  readOperation: keyof ContractProfile['pointers'] & keyof ContractProfile['operations'];
  /** Path of the token endpoint. */
  tokenPath: string;
  tokenEncoding(profile: ContractProfile): TokenEncoding;
  /** Headers of every call but the token request. */
  headers: Readonly<Record<string, string>>;
}

/** The terms of each interface, as far as no profile can change them. */
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
