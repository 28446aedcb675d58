import type { ParkReason } from '../domain/delivery.js';
import { FaretrailError } from '../domain/errors.js';
import type { Sealer } from '../sealing/sealer.js';
import type { AcceptedSubscriptions } from './accepted-subscriptions.js';
import { readRawDelivery } from './delivery-request.js';
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
    const read = readRawDelivery(await openContent(sealer, delivery, delivery.sealed));
    return read === null ? 'wrongSecret' : verification.verify(read, accepted);
  }

  return {
    async check(delivery) {
      if (delivery.uncheckedGeneration === undefined) return null;
      const at = Date.parse(delivery.receivedAt);
      // A read before it came may not know its generation, or its secret, yet.
      const acceptance = await subscriptions.acceptanceOf(delivery, delivery.uncheckedGeneration, {
        at,
        readSince: at,
      });
      if (acceptance === 'unknown') throw new CheckNotPossibleYet();
      if (acceptance === 'neverSubscribed') return acceptance;
      if (acceptance === 'ended') return 'endedGeneration';
      const verdict = await verdictOn(delivery, acceptance);
      if (verdict === 'noSecretYet') throw new CheckNotPossibleYet();
      return verdict === 'wrongSecret' ? verdict : null;
    },
  };
}
