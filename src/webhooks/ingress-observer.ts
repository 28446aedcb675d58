import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { SecretSighting } from './secret-sighting.js';

/** How a request to a delivery address can end. A closed list, since it labels a metric. */
export const intakeOutcomes = [
  /** Durable, 202. */
  'accepted',
  /** Durable, 202; a person must place it. */
  'parked',
  /** Durable, 202; admitted by its address alone, and checked before the ingress forwards it. */
  'unchecked',
  /** A test delivery, 202; the ingress does nothing else. */
  'test',
  /** 404: not one of our addresses. Its account and event type are no labels, since any sender can invent them. */
  'notFound',
  /** 413. */
  'tooLarge',
  /** 429: the address has sent too many deliveries. */
  'tooMany',
  /** 429: too many deliveries of the account are about orders that may not start yet. */
  'tooManyNew',
  /** 429: too many parked deliveries of the account wait for a person. */
  'tooManyParked',
  /** 415: packed. */
  'encoded',
  /** 400. */
  'notJson',
  /** 401. */
  'wrongSecret',
  /** 401: the subscription has ended, or the grace of this address is over. */
  'ended',
  /** 401. */
  'neverSubscribed',
  /** 503: the ingress does not know the secret yet. */
  'noSecretYet',
  /** 503. */
  'journalFull',
  /** 503. */
  'journalUnwritable',
  /** 503: the ingress could not store it for another reason. */
  'unavailable',
  /** No answer: the sender went away, or took too long. */
  'aborted',
  /** 500: our fault. */
  'failed',
] as const;

/** One of `intakeOutcomes`. */
export type IntakeOutcome = (typeof intakeOutcomes)[number];

const acknowledged: readonly IntakeOutcome[] = ['accepted', 'parked', 'unchecked', 'test'];

/** Did the sender get another answer than 202, or none? */
export const isRefused = (outcome: IntakeOutcome): boolean => !acknowledged.includes(outcome);

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
