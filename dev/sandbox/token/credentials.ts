import type { RideInterface } from '../../../src/domain/account.js';

/** What one interface accepts at its token endpoint, and the lifetime of tokens that it issues from now on. */
export interface AcceptedClient {
  clientId: string;
  clientSecret: string;
  tokenLifetimeSeconds: number;
}

export type AcceptedClients = Record<RideInterface, AcceptedClient>;

/** The credentials that a sandbox accepts by default. They open only a sandbox, so they may be in the repository. */
export const sandboxCredentials = {
  partner: {
    clientId: 'sandbox-partner-client',
    clientSecret: 'sandbox-only-partner-secret-u7Qm2xVb9LrT4kWzE8hNcY5sPdJf3GaR',
  },
  business: {
    clientId: 'sandbox-business-client',
    clientSecret: 'sandbox-only-business-secret-H6tBn1vKq8MxZ3yRw5CjD7pLfS9gUe2A',
    businessId: 'c0ffee00-5a4d-4b0c-8a5e-5a4db0c5a4db',
  },
} as const;

/** Seconds. 3600 is typical at the partner interface, and the example of the business interface has 899 (given). */
export const defaultLifetimeSeconds: Record<RideInterface, number> = { partner: 3600, business: 899 };
