import { InvalidInput } from '../errors.js';
import { readInput } from '../input-fields.js';
import { AccountNameSchema, toScope } from '../keys.js';
import * as s from '../schema.js';
import {
  emptyLease,
  type RenewalWish,
  renewalCauses,
  type SealedToken,
  type TokenFailure,
  type TokenLease,
} from './lease.js';

const maxScope = 1_000;
const scopeRule = `must be sorted scope values with one blank between, ${maxScope} characters at most`;

const AccessTokenInputSchema = s.inputOf({
  account: AccountNameSchema,
  scope: s.mapped(
    s.checked(s.answered(), (scope) => scope.length <= maxScope && toScope(scope) === scope, scopeRule),
    toScope,
  ),
  credentialId: s.matching(/^[0-9a-f]{16}$/, 'must be 16 hex digits'),
  // What the previous run of this lease knew; see `readTokenLease`.
  lease: s.optional(s.anything),
  // The run continues as new after so many signals, which the server counts to 10,000 and never hints at.
  maxSignals: s.optional(s.positive),
  // And after so many events, beside the server's own hint.
  maxEvents: s.optional(s.positive),
});
/** What `accessToken` is started with. */
export type AccessTokenInput = Omit<s.Read<typeof AccessTokenInputSchema>, 'lease'> & { lease?: TokenLease };

/**
 * Reads the input of `accessToken`, which any language may send; a `lease` only our own run hands on, to one that `isContinued`.
 * Throws `InvalidInput` that names the field.
 */
export function parseAccessTokenInput(value: unknown, isContinued: boolean): AccessTokenInput {
  const { lease, ...input } = readInput(AccessTokenInputSchema, value);
  if (lease !== undefined && !isContinued)
    throw new InvalidInput('lease: only a run that continues another is given one');
  const carried = readTokenLease(lease);
  return carried ? { ...input, lease: carried } : input;
}

type Fields = Record<string, unknown>;

const toFields = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isInstant = (value: unknown): value is string => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Reads the argument of `renewToken`; undefined for what is no wish. A caller of an earlier release gives `insteadOf` alone. */
export function readRenewalWish(value: unknown): RenewalWish | undefined {
  const { insteadOf, cause = 'rejected', operation, hasServed } = toFields(value) ?? {};
  const known = renewalCauses.find((one) => one === cause);
  if ((insteadOf !== null && !isText(insteadOf)) || known === undefined) return undefined;
  return {
    ...{ insteadOf, cause: known },
    operation: isText(operation) ? operation.slice(0, 100) : null,
    hasServed: hasServed === true,
  };
}

/** Reads a lease as published in a memo; undefined for what is none: whoever may start workflows may take the id of a lease. */
export function readTokenLease(value: unknown): TokenLease | undefined {
  const fields = toFields(value);
  if (!fields) return undefined;
  const token = fields.token === null ? null : readToken(fields.token);
  const failure = fields.failure === null ? null : readFailure(fields.failure);
  const { renewals, failuresInRow, pacedUntil = null, publishedAt = null } = fields;
  if (token === undefined || failure === undefined || !isCount(renewals) || !isCount(failuresInRow)) return undefined;
  return {
    ...emptyLease,
    ...{ token, failure, renewals, failuresInRow },
    pacedUntil: isInstant(pacedUntil) ? pacedUntil : null,
    publishedAt: isInstant(publishedAt) ? publishedAt : null,
  };
}

function readToken(value: unknown): SealedToken | undefined {
  const { id, sealed, requestedAt, renewAt, expiresAt, grantedScope = null } = toFields(value) ?? {};
  if (!isText(id) || !isText(sealed) || !isInstant(requestedAt) || !isInstant(renewAt) || !isInstant(expiresAt)) {
    return undefined;
  }
  return { id, sealed, requestedAt, renewAt, expiresAt, grantedScope: isText(grantedScope) ? grantedScope : null };
}

const failureCodes: readonly TokenFailure['code'][] = [
  'credentialsRejected',
  'scopeRejected',
  'grantRejected',
  'upstreamUnavailable',
];

function readFailure(value: unknown): TokenFailure | undefined {
  const { code, message, at, retryAt, operations } = toFields(value) ?? {};
  const known = failureCodes.find((one) => one === code);
  if (known === undefined || typeof message !== 'string' || !isInstant(at) || !isInstant(retryAt)) return undefined;
  const named = Array.isArray(operations) ? { operations: operations.filter(isText) } : {};
  return { code: known, message, at, retryAt, ...named };
}
