import type { ParkReason } from '../domain/delivery.js';
import { FaretrailError } from '../domain/errors.js';
import type { Sealer } from '../sealing/sealer.js';
import type { AcceptedSubscriptions } from './accepted-subscriptions.js';
import { readDeliveryBody } from './delivery-request.js';
import type { JournaledDelivery } from './journal/entries.js';
import { openContent } from './sealed-content.js';
import type { AcceptedProof, Verdict, Verification } from './verification.js';

/** Whether a delivery that was admitted by its address alone is genuine cannot be said yet: ask again later. */
export class CheckNotPossibleYet extends FaretrailError<'CheckNotPossibleYet'> {
  override readonly name = 'CheckNotPossibleYet';

  constructor() {
    super('CheckNotPossibleYet', 'what the subscription accepts is not known yet');
  }
}

/** The check that was left out while Temporal could not be asked. */
export interface LaterCheck {
  /** null: forward it. Otherwise park it. Throws `CheckNotPossibleYet`, or `SealingError` when our keys do not open it. */
  check(delivery: JournaledDelivery): Promise<ParkReason | null>;
}

interface Parts {
  subscriptions: AcceptedSubscriptions;
  verification: Verification;
  sealer: Pick<Sealer, 'unseal'>;
}

/** A delivery is judged by what was accepted when it came, not by when we get to ask. */
export function createLaterCheck({ subscriptions, verification, sealer }: Parts): LaterCheck {
  async function verdictOn(delivery: JournaledDelivery, accepted: AcceptedProof): Promise<Verdict> {
    if (!verification.needsSecret || accepted.isSecretLost) return 'verified';
    if (delivery.sealed === undefined) return 'wrongSecret';
    const { rawBody, headers } = await openContent(sealer, delivery, delivery.sealed);
    const read = readDeliveryBody(rawBody);
    return read === null ? 'wrongSecret' : verification.verify({ rawBody, headers, body: read.body }, accepted);
  }

  return {
    async check(delivery) {
      if (delivery.uncheckedGeneration === undefined) return null;
      const at = Date.parse(delivery.receivedAt);
      // A read before it came may not know its generation, or its secret, yet.
      const standing = await subscriptions.standingOf(delivery, delivery.uncheckedGeneration, { at, readSince: at });
      if (standing === 'unknown') throw new CheckNotPossibleYet();
      if (standing === 'neverSubscribed') return standing;
      if (standing === 'ended') return 'endedGeneration';
      const verdict = await verdictOn(delivery, standing);
      if (verdict === 'noSecretYet') throw new CheckNotPossibleYet();
      return verdict === 'wrongSecret' ? verdict : null;
    },
  };
}
