import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { IntakeOutcome } from './problems.js';
import type { SecretSighting } from './secret-sighting.js';

/** What metrics and logs may show of one request to a delivery address. */
export interface DeliveryFact {
  /** Empty unless the address is ours. */
  account: string;
  /** Empty unless the address is ours. */
  eventType: string;
  outcome: IntakeOutcome;
  /** From the request line to the answer. */
  seconds: number;
}

/** A body whose shape this process had not seen at this account, event type and outcome. */
export interface NewShape extends Omit<DeliveryFact, 'seconds'> {
  /** Pointers and types, never a value, and `*` for a name that may be one; null: the log has shown enough of them. */
  shape: string[] | null;
}

/** Receives what happens in the ingress. No call throws, and no argument holds a secret or a value of a body. */
export interface IngressObserver {
  delivery(fact: DeliveryFact): void;
  newShape(found: NewShape): void;
  /** In mode `path`: where a searched delivery held its secret. */
  secretSeen(key: SubscriptionKey, sighting: SecretSighting): void;
  /** A request failed in an unexpected way. */
  failure(error: unknown): void;
}
