import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { SecretSighting } from './secret-sighting.js';

/** What can become of a request to a delivery address. A closed list: it labels a metric. */
export const intakeOutcomes = [
  /** Durable, 202. */
  'accepted',
  /** Durable, 202: kept for a person to place. */
  'parked',
  /** Durable, 202, admitted by its address alone: checked before it is forwarded. */
  'unchecked',
  /** A trial, 202; nothing else happens. */
  'test',
  /** 404: not an address of ours. Its account and event type are not labelled: anybody can make them up. */
  'notFound',
  /** 413. */
  'tooLarge',
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
  /** 503: the secret that the mode needs is not known yet. */
  'noSecretYet',
  /** 503. */
  'journalFull',
  /** 503. */
  'journalUnwritable',
  /** 503: it could not be made durable for another reason. */
  'unavailable',
  /** No answer: the sender went away, or took too long. */
  'aborted',
  /** 500: a fault of ours. */
  'failed',
] as const;

/** One of `intakeOutcomes`. */
export type IntakeOutcome = (typeof intakeOutcomes)[number];

/** One request to a delivery address, as metrics and logs may know it. */
export interface DeliveryFact {
  /** Empty unless the address is ours. */
  account: string;
  /** Empty unless the address is ours. */
  eventType: string;
  outcome: IntakeOutcome;
  /** From the request line to the answer. */
  seconds: number;
}

/** How the ingress tells what happens. No call throws, and nothing told holds a secret or a part of a body. */
export interface IngressObserver {
  delivery(fact: DeliveryFact): void;
  /** In mode `path`: where the secret stood in a delivery that was looked into. */
  secretSeen(key: SubscriptionKey, sighting: SecretSighting): void;
  /** A request failed in a way that it never should. */
  failure(error: unknown): void;
}
