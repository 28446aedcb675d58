import type { Attention } from '../attention.js';
import { iso, PublishedInstantSchema } from '../instant.js';
import * as s from '../schema.js';
import { type SubscriptionGeneration, type SubscriptionState, withUnverified } from './state.js';
import { generationPattern, type SilenceWatch, type SubscriptionInput, silenceWatchOf } from './subscription.js';

// The signature of an address's deliveries:
//
//   unproven --first verified delivery--> proven --refusals alone for two looks--> unverified
//                                           ^                                           |
//                                           +--------- a delivery is verified ----------+
//
// A rotation or a move opens another address, which starts as unproven.

/** A header name (RFC 9110 section 5.6.2), in lower case. */
const headerPattern = /^[a-z0-9!#$%&'*+.^_`|~-]{1,200}$/;

const ProofCountsSchema = s.answerOf({
  generation: s.matching(generationPattern, 'must be a generation'),
  // The header of the latest verified delivery; null if none was verified since the ingress started.
  header: s.nullable(s.matching(headerPattern, 'must be the name of a header in lower case')),
  // Deliveries with a valid signature.
  verified: s.wholeNumber(0),
  // Deliveries that the ingress refused for want of one.
  refused: s.wholeNumber(0),
  from: PublishedInstantSchema,
});
/** What one ingress counted at an address since the ISO instant `from`. */
export type ProofCounts = s.Read<typeof ProofCountsSchema>;

/** Reads the second form of the argument of `changesCounted`, which any program may send; null for anything else. */
export const readProofCounts = (value: unknown): ProofCounts | null => s.readOr(ProofCountsSchema, value, null);

/** With less than two looks between, an ingress that got none of the genuine deliveries would raise attention. */
const patienceLooks = 2;

/** Records what ingresses counted, and judges the address in force. */
export function withProofs(
  state: SubscriptionState,
  input: SubscriptionInput,
  counted: readonly ProofCounts[],
  now: number,
): SubscriptionState {
  if (counted.length === 0) return state;
  const generations = state.generations.map((one) =>
    counted
      .filter(({ generation }) => generation === one.generation)
      .reduce((is, counts) => withReport(is, counts, now), one),
  );
  const current = generations.find(({ stage, until }) => stage === 'registered' && until === null);
  const since = state.unverified?.since ?? iso(now);
  return withUnverified({ ...state, generations }, unverifiedOf(current, silenceWatchOf(input), since, now));
}

function withReport(one: SubscriptionGeneration, counts: ProofCounts, now: number): SubscriptionGeneration {
  const { proof } = one;
  const { header, verified, refused, from } = counts;
  if (verified > 0 && header !== null)
    return { ...one, proof: { header, at: proof?.at ?? from, until: iso(now), refused: 0 } };
  if (proof) return { ...one, proof: { ...proof, refused: proof.refused + refused } };
  // A run that an operator has reset forgets the first one.
  return header === null ? one : { ...one, proof: { header, at: from, until: from, refused } };
}

function unverifiedOf(
  current: SubscriptionGeneration | undefined,
  { everyMs, minOrders }: SilenceWatch,
  since: string,
  now: number,
): Attention | null {
  const { proof } = current ?? {};
  if (!proof || proof.refused < minOrders || now - Date.parse(proof.until) < patienceLooks * everyMs) return null;
  return {
    code: 'deliveriesUnverified',
    message:
      `${proof.refused} deliveries without a valid signature were refused, and none was verified since ${proof.until}. ` +
      'If the service signs otherwise now, rotate the subscription, which starts anew; ' +
      'if it no longer signs, set delivery.verification to the mode "path". Orders are read on.',
    since,
  };
}
