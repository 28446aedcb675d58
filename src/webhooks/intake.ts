import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type DeliveryReading, isTestDelivery, whyToPark } from '../contracts/delivery-body.js';
import type { JsonObject } from '../contracts/json.js';
import type { Delivery } from '../domain/delivery.js';
import { FaretrailError } from '../domain/errors.js';
import type { DeliveryId } from '../domain/keys.js';
import type { SubscriptionKey } from '../domain/workflow-ids.js';
import type { Sealer } from '../sealing/sealer.js';
import { type Acceptance, type AcceptedSubscriptions, memoLifetimeMs } from './accepted-subscriptions.js';
import type { Address } from './addresses.js';
import type { DeliveryCheck } from './forward/routing.js';
import { ShareUsedUp } from './forward/routing.js';
import { JournalError } from './journal/folder.js';
import type { IngressObserver } from './observer.js';
import type { IntakeOutcome } from './problems.js';
import { openContent, type RawDelivery, readRawDelivery, sealContent } from './raw-delivery.js';
import type { AcceptedProof, Verdict, Verification } from './verification.js';
import { createSampling, findSecret } from './verification.js';

/** Keeps deliveries: the journal, or Temporal if the journal is off. */
export interface DeliveryStore {
  /** Resolves once the delivery is durable. Rejects with a coded error if the store did not take it. */
  accept(delivery: Delivery): Promise<void>;
  /** Why the store takes no delivery now, in one line; null when it takes one. */
  whyNotReady(): string | null | Promise<string | null>;
}

interface IntakeParts {
  readBody: (body: JsonObject) => DeliveryReading;
  subscriptions: AcceptedSubscriptions;
  verification: Verification;
  sealer: Pick<Sealer, 'seal'>;
  store: DeliveryStore;
  observer: Pick<IngressObserver, 'body' | 'secretSeen' | 'failure'>;
}

/** A delivery at one of our addresses. */
export interface Arrival extends Address {
  /** Milliseconds since the epoch. */
  arrivedAt: number;
  /** Of the delivery's trace, where traces are on. */
  traceparent?: string;
}

/** The answer to the sender. Every 202 holds `deliveryId`. */
export interface IntakeAnswer {
  outcome: IntakeOutcome;
  deliveryId?: string;
}

/** Takes a delivery from its raw bytes to the store. Never rejects. */
export type TakeDelivery = (arrival: Arrival, headers: IncomingHttpHeaders, rawBody: Buffer) => Promise<IntakeAnswer>;

/** The pipeline of a delivery, apart from HTTP. */
export function createIntake(parts: IntakeParts): TakeDelivery {
  const { subscriptions, verification, observer } = parts;
  const isSampled = createSampling();

  async function takeReadable(arrival: Arrival, delivery: RawDelivery): Promise<IntakeAnswer> {
    let acceptance = await subscriptions.acceptanceOf(arrival, arrival.generation);
    let outcome = toOutcome(acceptance, delivery, verification);
    if (outcome === 'wrongSecret' || outcome === 'noSecretYet') {
      // The run may have stored the secret since the ingress last read the memo.
      const readSince = arrival.arrivedAt - memoLifetimeMs;
      acceptance = await subscriptions.acceptanceOf(arrival, arrival.generation, { readSince });
      outcome = toOutcome(acceptance, delivery, verification);
    }
    if (outcome !== 'accepted' && outcome !== 'unchecked') return { outcome };
    if (typeof acceptance === 'object') lookForSecret(arrival, delivery, acceptance);
    return await keep(arrival, delivery, outcome === 'accepted');
  }

  function lookForSecret(arrival: Arrival, delivery: RawDelivery, { secrets }: AcceptedProof): void {
    const { account, eventType, generation } = arrival;
    if (verification.needsSecret || secrets.length === 0 || !isSampled(`${account}/${eventType}/${generation}`)) return;
    observer.secretSeen(arrival, findSecret(delivery, secrets));
  }

  async function keep(arrival: Arrival, delivery: RawDelivery, isChecked: boolean): Promise<IntakeAnswer> {
    const { account, eventType, generation, businessId } = arrival;
    const reading = delivery.isClear ? parts.readBody(delivery.body) : unread;
    const deliveryId = deliveryIdOf(arrival, delivery.rawBody);
    if (isTestDelivery(reading)) return { outcome: 'test', deliveryId };

    const parkReason = delivery.isClear ? whyToPark(reading, { eventType, businessId }) : 'ambiguousBody';
    const kept = inShort(arrival, parkReason === null ? reading : { ...reading, orderId: null }, deliveryId);
    if (!isChecked) kept.uncheckedGeneration = generation;
    if (parkReason !== null) kept.parkReason = parkReason;
    if (!isChecked || parkReason !== null) {
      const headersToCheck = isChecked ? [] : verification.headers;
      kept.sealed = await sealContent(parts.sealer, { account, deliveryId }, delivery, headersToCheck);
    }
    try {
      await parts.store.accept(kept);
    } catch (error) {
      return { outcome: toFailure(error) };
    }
    if (!isChecked) return { outcome: 'unchecked', deliveryId };
    return { outcome: parkReason === null ? 'accepted' : 'parked', deliveryId };
  }

  return async (arrival, headers, rawBody) => {
    try {
      const delivery = readRawDelivery({ headers, rawBody });
      if (delivery === null) return { outcome: 'notJson' };
      const answer = await takeReadable(arrival, delivery);
      observer.body(arrival, answer.outcome, rawBody);
      return answer;
    } catch (error) {
      observer.failure(error);
      return { outcome: 'failed' };
    }
  };
}

/** The reading of a body that JSON parsers read differently. */
const unread: DeliveryReading = { orderId: null, isOrderIdUnusable: false };

/** What the store keeps of every delivery. */
function inShort(arrival: Arrival, reading: DeliveryReading, deliveryId: DeliveryId): Delivery {
  const { orderId, status } = reading;
  const { account, eventType, arrivedAt, traceparent } = arrival;
  const receivedAt = new Date(arrivedAt).toISOString();
  const kept: Delivery = { account, eventType, orderId, deliveryId, receivedAt };
  if (status !== undefined) kept.status = status;
  if (traceparent !== undefined) kept.traceparent = traceparent;
  return kept;
}

function toOutcome(acceptance: Acceptance, delivery: RawDelivery, verification: Verification): IntakeOutcome {
  if (acceptance === 'unknown') return 'unchecked';
  if (typeof acceptance === 'string') return acceptance;
  const verdict = verification.verify(delivery, acceptance);
  return verdict === 'verified' ? 'accepted' : verdict;
}

function toFailure(error: unknown): IntakeOutcome {
  if (error instanceof ShareUsedUp) return error.reason === 'parked' ? 'tooManyParked' : 'tooManyNew';
  const code = error instanceof JournalError ? error.code : undefined;
  if (code === 'JournalFull') return 'journalFull';
  return code === 'JournalUnwritable' ? 'journalUnwritable' : 'unavailable';
}

/**
 * The first 32 hex digits of SHA-256 over `<account>/<event type>/` and the raw body. The same body at the same
 * subscription is the same delivery, at whichever generation of the address.
 */
const deliveryIdOf = ({ account, eventType }: SubscriptionKey, rawBody: Uint8Array): DeliveryId =>
  // A hash object that takes parts would stay in memory until the next full collection.
  hash('sha256', Buffer.concat([Buffer.from(`${account}/${eventType}/`), rawBody]), 'hex').slice(0, 32) as DeliveryId;

interface LaterCheckParts {
  subscriptions: AcceptedSubscriptions;
  verification: Verification;
  sealer: Pick<Sealer, 'unseal'>;
}

/**
 * Makes the check that the ingress skipped while Temporal did not answer. The check applies what the subscription accepted when the
 * delivery came. Throws `FaretrailError` `CheckNotPossibleYet` while it cannot tell whether the delivery is genuine, or `SealingError` when our keys do not open the delivery.
 */
export function createLaterCheck({ subscriptions, verification, sealer }: LaterCheckParts): DeliveryCheck {
  async function verdictOn(delivery: Delivery, accepted: AcceptedProof): Promise<Verdict> {
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
    if (acceptance === 'unknown') throw notKnownYet();
    if (acceptance === 'neverSubscribed') return acceptance;
    if (acceptance === 'ended') return 'endedGeneration';
    const verdict = await verdictOn(delivery, acceptance);
    if (verdict === 'noSecretYet') throw notKnownYet();
    return verdict === 'wrongSecret' ? verdict : null;
  };
}

const notKnownYet = () => new FaretrailError('CheckNotPossibleYet', 'what the subscription accepts is not known yet');
