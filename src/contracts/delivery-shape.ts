import { z } from 'zod';
import { isOrderId } from '../domain/keys.js';
import { toKnownStatus } from '../domain/order/status.js';
import { isEventType } from '../domain/subscription/subscription.js';
import { jsonTypes, pointersWhere } from './body-shape.js';
import type { ContractProfile } from './contract-profile.js';

/** What the profile reads in a delivery. */
export const deliveryFields = ['orderId', 'status', 'eventType', 'businessId'] as const;
/** One of `deliveryFields`. */
export type DeliveryField = keyof ContractProfile['pointers']['delivery'] & (typeof deliveryFields)[number];

const Text = z.string().max(1_000);
const forEachField = <Schema extends z.ZodType>(schema: Schema) =>
  z.strictObject({ orderId: schema, status: schema, eventType: schema, businessId: schema });

/** One shape of deliveries: names and types, never a value, and nothing of an address. */
const DeliveryShapeSchema = z.strictObject({
  account: Text,
  eventType: Text,
  /** What the ingress answered, as in the metric `faretrail_deliveries_total`. */
  outcome: Text,
  parkReason: Text.nullable(),
  /** Null: the ingress took no body, or the body is no JSON object. */
  body: z
    .strictObject({
      fields: z.array(z.strictObject({ at: Text, types: z.array(z.enum(jsonTypes)) })),
      isCut: z.boolean(),
    })
    .nullable(),
  /** Names in lower case, sorted; `*` for a name that may be a value. */
  headers: z.array(Text),
  /** The pointer of the profile that found a value; null where none did. */
  matched: forEachField(Text.nullable()),
  /** Where none matched: the places whose value looks like the one that is wanted, the best first. */
  candidates: forEachField(z.array(Text)),
  secret: z.strictObject({
    /** `unknown`: the ingress had no secret to compare with. */
    place: z.enum(['header', 'body', 'hmac', 'none', 'unknown']),
    at: Text,
    encoding: z.enum(['hex', 'base64']).optional(),
    prefix: Text.optional(),
  }),
  /** How many deliveries of this shape the ingress has looked at. */
  count: z.int().min(1),
  firstAt: Text,
  lastAt: Text,
});

/** The document in which an ingress keeps the shapes of its deliveries. */
export const DeliveryShapesSchema = z.strictObject({ version: z.literal(1), shapes: z.array(DeliveryShapeSchema) });

/** See `DeliveryShapeSchema`. */
export type DeliveryShape = z.infer<typeof DeliveryShapeSchema>;

const maxCandidates = 3;
const maxTextLength = 100;

/** Names under which an order id may stand, the likeliest first. */
const orderIdPlaces = [
  /(order|ride|trip|reservation)[_-]?(id|uuid|number|no|ref|reference)$/i,
  /\/(order|ride|trip|reservation)[^/]*\/(id|uuid|number|no|ref|reference)$/i,
  /\/(id|uuid)$/i,
  /(?<!company|business|driver|vehicle|event|message|delivery|subscri\w+|request|user|passenger|account)([_-]id|Id)$/,
];

const looksLikeId = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isSafeInteger(value) && value > 0
    : typeof value === 'string' && /^(?=.*\d)[\w.:-]{1,64}$/.test(value) && isOrderId(value);

/**
 * The places of a body whose value looks like an order id, a known status word, an event type or this company's id. It gives pointers
 * alone. Whoever knows an address chooses the body, so a person decides about them.
 */
export function findCandidates(body: unknown, businessId: string | undefined): Record<DeliveryField, string[]> {
  const fits: Record<DeliveryField, (value: unknown) => boolean> = {
    orderId: looksLikeId,
    status: isTextWhere((text) => toKnownStatus(text) !== undefined),
    eventType: isTextWhere(isEventType),
    businessId: isTextWhere((text) => text.toLowerCase() === businessId?.toLowerCase()),
  };
  // One walk for all fields, since a large body takes milliseconds.
  const kinds: DeliveryField[][] = [];
  const pointers = pointersWhere(body, (value) => {
    const found = deliveryFields.filter((field) => fits[field](value));
    return found.length > 0 && kinds.push(found) > 0;
  });
  const at = (field: DeliveryField): string[] => pointers.filter((_, index) => kinds[index]?.includes(field));
  const ids = at('orderId');
  const ranked = orderIdPlaces.map((place) => ids.filter((pointer) => place.test(pointer)));
  const best = { ...mapFields(at), orderId: ranked.find((found) => found.length > 0) ?? [] };
  return mapFields((field) => best[field].slice(0, maxCandidates));
}

const isTextWhere =
  (isWanted: (text: string) => boolean) =>
  (value: unknown): boolean =>
    typeof value === 'string' && value.length <= maxTextLength && isWanted(value);

/** A record with one value for each field. */
export const mapFields = <T>(make: (field: DeliveryField) => T): Record<DeliveryField, T> => ({
  orderId: make('orderId'),
  status: make('status'),
  eventType: make('eventType'),
  businessId: make('businessId'),
});
