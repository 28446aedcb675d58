import type { IncomingHttpHeaders } from 'node:http';
import { bodyShape } from '../../contracts/body-shape.js';
import type { ContractProfile } from '../../contracts/contract-profile.js';
import { createDeliveryReader, matchedPointers, whyToPark } from '../../contracts/delivery-body.js';
import { type DeliveryShape, findCandidates, mapFields } from '../../contracts/delivery-shape.js';
import type { JsonObject } from '../../contracts/json.js';
import { type RawDelivery, readRawDelivery } from '../delivery-request.js';
import type { IntakeOutcome } from '../ingress-observer.js';
import type { Arrival } from '../intake.js';
import { findSecret } from '../secret-sighting.js';
import type { DeliverySecret } from '../verification.js';

/** A delivery at one of our addresses, after its answer. */
export interface AnsweredDelivery {
  arrival: Arrival;
  headers: IncomingHttpHeaders;
  /** Null: the ingress refused it before its body. */
  rawBody: Buffer | null;
  outcome: IntakeOutcome;
}

/** What a look at one delivery gives: its shape, without how often and when. */
export type Look = Omit<DeliveryShape, 'count' | 'firstAt' | 'lastAt'>;

const unread: Pick<Look, 'matched' | 'candidates'> = {
  matched: mapFields(() => null),
  candidates: mapFields(() => []),
};
const maxHeaders = 40;
/** Characters of the JSON of a body's shape. The deliveries of the service need about a thousand. */
const maxBodyShape = 6_000;

/** Looks at deliveries with one profile. `secrets`: those of the subscription; null where the ingress does not know them. */
export function createLook(profile: Pick<ContractProfile, 'pointers' | 'statuses'>) {
  const pointers = profile.pointers.delivery;
  const { notOrderStatus } = profile.statuses;
  const read = createDeliveryReader(pointers, notOrderStatus);

  function whyParked({ eventType, businessId }: Arrival, { isClear, body }: RawDelivery): string | null {
    return isClear ? whyToPark(read(body), { eventType, businessId }) : 'ambiguousBody';
  }

  function placesIn(body: JsonObject, businessId: string | undefined): Pick<Look, 'matched' | 'candidates'> {
    const matched = matchedPointers(body, pointers, notOrderStatus);
    const found = findCandidates(body, businessId);
    return { matched, candidates: mapFields((field) => (matched[field] === null ? found[field] : [])) };
  }

  return (
    { arrival, headers, rawBody, outcome }: AnsweredDelivery,
    secrets: readonly DeliverySecret[] | null,
  ): Look => {
    const { account, eventType, businessId } = arrival;
    const delivery = rawBody === null ? null : readRawDelivery({ headers, rawBody });
    // Headers are searched for the secret even where the body cannot be read.
    const proof = { headers, rawBody: rawBody ?? Buffer.alloc(0), body: delivery?.body ?? {} };
    const places = delivery?.isClear ? placesIn(delivery.body, businessId) : unread;
    return {
      ...{ account, eventType, outcome },
      parkReason: outcome === 'parked' && delivery !== null ? whyParked(arrival, delivery) : null,
      body: delivery === null ? null : boundedShape(delivery.body),
      headers: namesOf(headers),
      ...places,
      secret: sightingIn(proof, secrets),
    };
  };
}

function sightingIn(
  proof: Parameters<typeof findSecret>[0],
  secrets: readonly DeliverySecret[] | null,
): Look['secret'] {
  if (secrets === null || secrets.length === 0) return { place: 'unknown', at: '' };
  const found = findSecret(proof, secrets);
  return found.place === 'body' || found.place === 'none' ? found : { ...found, at: shownName(found.at) };
}

function boundedShape(body: JsonObject): NonNullable<Look['body']> {
  const { fields, isCut } = bodyShape(body);
  let room = maxBodyShape;
  const kept = fields.filter((field) => {
    room -= JSON.stringify(field).length;
    return room >= 0;
  });
  return { fields: kept, isCut: isCut || kept.length < fields.length };
}

/** The sender chooses the names of headers too, so a name that may be a value is not shown. */
const shownName = (name: string): string =>
  /^[a-z][a-z0-9_-]{0,39}$/.test(name) && name.replace(/\D/g, '').length <= 3 ? name : '*';

const namesOf = (headers: IncomingHttpHeaders): string[] =>
  [...new Set(Object.keys(headers).slice(0, maxHeaders).map(shownName))].sort();
