import type { Cadence } from '../../../src/domain/account.js';
import type { AccountName, OrderId } from '../../../src/domain/keys.js';

// What the workflows and the activities of the tracker share.

export interface TrackOrderInput {
  account: AccountName;
  orderId: OrderId;
  cadence: Cadence;
  /** What the run before this one knew. */
  tracked?: TrackedOrder;
}

export interface TrackedOrder {
  status: string | null;
  since: number;
  timeline: { status: string; at: string }[];
}

/** Polls drift apart by up to a tenth of their pace, as they do on the other side of the bench. */
const jitterShare = 0.1;

/** The pause until the next poll. In a workflow `Math.random` is replayed. */
export const jittered = (ms: number): number => ms * (1 + Math.random() * jitterShare);
