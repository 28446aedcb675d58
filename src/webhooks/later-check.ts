import { FaretrailError } from '../domain/errors.js';
import type { Sealer } from '../sealing/sealer.js';
import type { AcceptedSubscriptions } from './accepted-subscriptions.js';
import { readRawDelivery } from './delivery-request.js';
import type { DeliveryCheck } from './forward/routing.js';
import type { JournaledDelivery } from './journal/entries.js';
import { openContent } from './sealed-content.js';
import type { AcceptedProof, Verdict, Verification } from './verification.js';

/** The ingress cannot check yet whether a delivery admitted by its address alone is genuine, so it checks later. */
export class CheckNotPossibleYet extends FaretrailError<'CheckNotPossibleYet'> {
  override readonly name = 'CheckNotPossibleYet';

  constructor() {
    super('CheckNotPossibleYet', 'what the subscription accepts is not known yet');
  }
}

interface Parts {
  subscriptions: AcceptedSubscriptions;
  verification: Verification;
  sealer: Pick<Sealer, 'unseal'>;
}

/**
 * Makes the check that the ingress skipped while Temporal did not answer. The check applies what the subscription accepted when the
 * delivery came. Throws `CheckNotPossibleYet`, or `SealingError` when our keys do not open the delivery.
 */
export function createLaterCheck({ subscriptions, verification, sealer }: Parts): DeliveryCheck {
  async function verdictOn(delivery: JournaledDelivery, accepted: AcceptedProof): Promise<Verdict> {
    if (!verification.needsSecret || accepted.isSecretLost) return 'verified';
    if (delivery.sealed === undefined) return 'wrongSecret';
    const read = readRawDelivery(await openContent(sealer, delivery, delivery.sealed));
    return read === null ? 'wrongSecret' : verification.verify(read, accepted);
  }

  return async (delivery) => {
    if (delivery.uncheckedGeneration === undefined) return null;
    const at = Date.parse(delivery.receivedAt);
    // A memo read before the delivery came may lack its generation or its secret.
    const options = { at, readSince: at };
    const acceptance = await subscriptions.acceptanceOf(delivery, delivery.uncheckedGeneration, options);
    if (acceptance === 'unknown') throw new CheckNotPossibleYet();
    if (acceptance === 'neverSubscribed') return acceptance;
    if (acceptance === 'ended') return 'endedGeneration';
    const verdict = await verdictOn(delivery, acceptance);
    if (verdict === 'noSecretYet') throw new CheckNotPossibleYet();
    return verdict === 'wrongSecret' ? verdict : null;
  };
}
