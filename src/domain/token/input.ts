import { InvalidInput } from '../errors.js';
import { readInput } from '../input-fields.js';
import { AccountNameSchema, toScope } from '../keys.js';
import * as s from '../schema.js';
import { type RenewalWish, readTokenLease, renewalCauses, type TokenLease } from './lease.js';

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
/** The input of `accessToken`. */
export type AccessTokenInput = Omit<s.Read<typeof AccessTokenInputSchema>, 'lease'> & { lease?: TokenLease };

/** Reads the input of `accessToken`; only a run that `isContinued` may get a `lease`. Throws `InvalidInput` that names the field. */
export function parseAccessTokenInput(value: unknown, isContinued: boolean): AccessTokenInput {
  const { lease, ...input } = readInput(AccessTokenInputSchema, value);
  if (lease !== undefined && !isContinued)
    throw new InvalidInput('lease: only a run that continues another is given one');
  const carried = readTokenLease(lease);
  return carried ? { ...input, lease: carried } : input;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** Reads the argument of `renewToken`; undefined for anything else. */
export function readRenewalWish(value: unknown): RenewalWish | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { insteadOf, cause = 'rejected', operation, hasServed } = value as Record<string, unknown>;
  const known = renewalCauses.find((one) => one === cause);
  if ((insteadOf !== null && !isText(insteadOf)) || known === undefined) return undefined;
  return {
    ...{ insteadOf, cause: known },
    operation: isText(operation) ? operation.slice(0, 100) : null,
    hasServed: hasServed === true,
  };
}
