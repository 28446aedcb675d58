import type { IncomingHttpHeaders } from 'node:http';
import { ageMs } from '../clock.js';
import type { Delivery } from '../domain/delivery.js';
import { FaretrailError } from '../domain/errors.js';
import { shares } from '../domain/shares.js';
import { type SubscriptionKey, subscriptionId } from '../domain/workflow-ids.js';
import type { Sealer } from '../sealing/sealer.js';
import { packingOf } from '../unpacking.js';
import { type Acceptance, type AcceptedSubscriptions, memoLifetimeMs } from './accepted-subscriptions.js';
import type { Arrival, Toll, TolledArrival } from './addresses.js';
import type { BodyReader } from './body-reader.js';
import { type DeliveryCheck, ShareUsedUp } from './forward/routing.js';
import { JournalError } from './journal/folder.js';
import type { IngressObserver } from './observer.js';
import { oneEachTurn } from './one-each-turn.js';
import type { IntakeOutcome } from './problems.js';
import type { ProofRecord } from './proof-record.js';
import {
  openContent,
  type RawContent,
  type RawDelivery,
  readRawDelivery,
  sealContent,
  sealForPerson,
  unpackContent,
} from './raw-delivery.js';
import type { AcceptedProof, Proof, Verdict, Verification } from './verification.js';

/** Keeps deliveries: the journal, or Temporal if the journal is off. */
export interface DeliveryStore {
  /** Resolves once the delivery is durable. Rejects with a coded error if the store did not take it. */
  accept(delivery: Delivery): Promise<void>;
  /** Why the store takes no delivery now, in one line; null when it takes one. */
  whyNotReady(): string | null | Promise<string | null>;
}

interface IntakeParts {
  reader: BodyReader;
  subscriptions: AcceptedSubscriptions;
  verification: Verification;
  proofs: ProofRecord;
  sealer: Pick<Sealer, 'seal'>;
  store: DeliveryStore;
  /** The largest body, in bytes. */
  maxBodyBytes: number;
  observer: Pick<IngressObserver, 'body' | 'failure'>;
}

/** The answer to the sender. Every 202 holds `deliveryId`. */
export interface IntakeAnswer {
  outcome: IntakeOutcome;
  deliveryId?: string;
}

/** Takes a delivery from its raw bytes to the store. Never rejects. */
export type TakeDelivery = (
  arrival: TolledArrival,
  headers: IncomingHttpHeaders,
  rawBody: Buffer,
) => Promise<IntakeAnswer>;

/** The pipeline of a delivery, apart from HTTP. */
export function createIntake(parts: IntakeParts): TakeDelivery {
  const { subscriptions, verification, observer, maxBodyBytes } = parts;
  const judge = createJudging(parts);
  const myTurn = oneEachTurn();

  /** Judges the bytes first: only what may pass, and has paid, is worth the time of a parser. */
  async function takeBytes(arrival: Arrival, toll: Toll, delivery: Proof): Promise<IntakeAnswer> {
    const { generation } = arrival;
    let judged = judge(arrival, generation, delivery, await subscriptions.acceptanceOf(arrival, generation));
    if (judged === 'noSecretYet' || (judged === 'wrongSecret' && !verification.isLearned)) {
      // The run may have stored the secret since the ingress last read the memo.
      const readWithinMs = ageMs(arrival.arrivedAt) + memoLifetimeMs;
      const acceptance = await subscriptions.acceptanceOf(arrival, generation, { readWithinMs });
      judged = judge(arrival, generation, delivery, acceptance);
    }
    const hasPaid = judged === 'verified' ? toll.prove() : toll.isPaid;
    if (!hasPaid) return { outcome: 'tooMany' };
    if (judged !== 'unknown' && judged !== 'verified' && judged !== 'admitted') return { outcome: judged };
    if (delivery.unpacked.length > shares.address.bytesPerDelivery) await myTurn(subscriptionId(arrival));
    const paid = toll.isPaid ? delivery : await unpackFor(toll, delivery, { maxBodyBytes, hasPaid });
    if (typeof paid === 'string') return { outcome: paid };
    const raw = readRawDelivery(paid, paid.unpacked);
    return raw === null ? { outcome: 'notJson' } : await keep(arrival, raw, judged);
  }

  async function keep(
    arrival: Arrival,
    raw: RawDelivery,
    judged: 'verified' | 'admitted' | 'unknown',
  ): Promise<IntakeAnswer> {
    const { delivery: found, ignored } = parts.reader(arrival, raw);
    const delivery: Delivery = judged === 'verified' ? { ...found, isProven: true } : found;
    const { deliveryId, parkReason } = delivery;
    const isChecked = judged !== 'unknown';
    if (ignored !== null) return { outcome: ignored, deliveryId };
    const isParked = parkReason !== undefined;
    try {
      await parts.store.accept(
        isChecked && !isParked ? delivery : await withContent(delivery, arrival, raw, isChecked),
      );
    } catch (error) {
      return { outcome: toFailure(error) };
    }
    if (!isChecked) return { outcome: 'unchecked', deliveryId };
    return { outcome: isParked ? 'parked' : 'accepted', deliveryId };
  }

  /** With its content for a person, or for a later check of the generation that it came to. */
  async function withContent(delivery: Delivery, at: Arrival, raw: RawDelivery, isChecked: boolean): Promise<Delivery> {
    if (isChecked) return { ...delivery, sealed: await sealForPerson(parts.sealer, delivery, raw) };
    const sealed = await sealContent(parts.sealer, delivery, raw, verification.headersToCheck(raw.headers));
    return { ...delivery, sealed, uncheckedGeneration: at.generation };
  }

  return async ({ toll, ...arrival }, headers, rawBody) => {
    try {
      const delivery = await unpackFor(toll, { headers, rawBody }, { maxBodyBytes, hasPaid: toll.isPaid });
      if (typeof delivery === 'string') return { outcome: delivery };
      const answer = await takeBytes(arrival, toll, delivery);
      if (answer.outcome !== 'tooMany' && answer.outcome !== 'notJson')
        observer.body(arrival, answer.outcome, delivery.unpacked);
      return answer;
    } catch (error) {
      observer.failure(error);
      return { outcome: 'failed' };
    }
  };
}

/** The body unpacked, at the cost of its address. What has not paid is judged by its bytes as they came. */
async function unpackFor(
  toll: Toll,
  content: RawContent,
  { maxBodyBytes, hasPaid }: { maxBodyBytes: number; hasPaid: boolean },
): Promise<Proof | IntakeOutcome> {
  const isPacked = packingOf(content.headers['content-encoding']) !== 'none';
  const unpacked = isPacked && hasPaid ? await unpackContent(content, maxBodyBytes) : content.rawBody;
  if (typeof unpacked !== 'string') toll.settle(Math.max(content.rawBody.length, unpacked.length));
  if (unpacked === 'tooLargeUnpacked') toll.addCost(shares.address.bomb);
  return typeof unpacked === 'string' ? unpacked : { ...content, unpacked };
}

type JudgingParts = Pick<IntakeParts, 'verification' | 'proofs'>;

/** Makes the one judgement of a delivery, for its arrival and for the later check. In mode `signed` each judgement counts: from the first
 *  verified delivery of a generation on, this process refuses those without a proof. */
function createJudging({ verification, proofs }: JudgingParts) {
  return (
    key: SubscriptionKey,
    generation: string,
    delivery: Proof,
    acceptance: Acceptance,
  ): Verdict | Exclude<Acceptance, AcceptedProof> => {
    if (typeof acceptance === 'string') return acceptance;
    const published = acceptance.verified;
    const verified = published ?? proofs.find(key, generation);
    const judgement = verification.verify(delivery, { ...acceptance, verified });
    if (verification.isLearned) proofs.note(key, generation, judgement, published);
    return judgement.verdict;
  };
}

function toFailure(error: unknown): IntakeOutcome {
  if (error instanceof ShareUsedUp) return error.reason === 'parked' ? 'tooManyParked' : 'tooManyNew';
  const code = error instanceof JournalError ? error.code : undefined;
  if (code === 'JournalFull') return 'journalFull';
  return code === 'JournalUnwritable' ? 'journalUnwritable' : 'unavailable';
}

interface LaterCheckParts extends JudgingParts, Pick<IntakeParts, 'subscriptions'> {
  sealer: Pick<Sealer, 'unseal'>;
}

/**
 * Makes the check that the ingress skipped while Temporal did not answer. It applies what the subscription accepted when the delivery came. Throws `FaretrailError` `CheckNotPossibleYet` while it cannot tell whether
 * the delivery is genuine, or `SealingError` when our keys do not open the delivery.
 */
export function createLaterCheck(parts: LaterCheckParts): DeliveryCheck {
  const { subscriptions, verification, sealer } = parts;
  const judge = createJudging(parts);

  async function readAgain(delivery: Delivery): Promise<RawDelivery> {
    const { unpacked, ...content } = await openContent(sealer, delivery, delivery.sealed ?? '');
    const raw = readRawDelivery(content, unpacked);
    if (raw === null) throw new FaretrailError('ContentUnreadable', 'a delivery that was JSON is none any more');
    return raw;
  }

  return async (delivery) => {
    const { uncheckedGeneration: generation } = delivery;
    if (generation === undefined) return null;
    const arrivedAt = Date.parse(delivery.receivedAt);
    // A memo read before the delivery came may lack its generation or its secret.
    const options = { at: arrivedAt, readWithinMs: ageMs(arrivedAt) };
    const acceptance = await subscriptions.acceptanceOf(delivery, generation, options);
    if (acceptance === 'unknown') throw notKnownYet();
    if (acceptance === 'neverSubscribed') return acceptance;
    if (acceptance === 'ended') return 'endedGeneration';
    if (!verification.needsSecret || acceptance.isSecretLost) return null;
    const verdict = judge(delivery, generation, await readAgain(delivery), acceptance);
    if (verdict === 'noSecretYet') throw notKnownYet();
    return verdict === 'wrongSecret' ? verdict : null;
  };
}

/** Makes what a person gets of the content that was kept for a later check: a long body is cut. */
export const createShortening =
  (sealer: Pick<Sealer, 'seal' | 'unseal'>) =>
  async (delivery: Delivery): Promise<string> =>
    await sealForPerson(sealer, delivery, await openContent(sealer, delivery, delivery.sealed ?? ''));

const notKnownYet = () => new FaretrailError('CheckNotPossibleYet', 'what the subscription accepts is not known yet');
