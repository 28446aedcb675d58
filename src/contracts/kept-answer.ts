import { z } from 'zod';
import type { BusinessOperation } from '../domain/call.js';
import { readInstant } from '../domain/instant.js';
import { statusKey, toKnownStatus } from '../domain/order/status.js';
import type { ReceiptAmounts } from '../domain/report.js';
import type { ContractProfile } from './contract-profile.js';
import { type JsonObject, ownValue, parentPointer, pointerTokens } from './json.js';

/** Whether an answer keeps personal data. Default: no. */
export interface Keeping {
  keepsPersonalData?: boolean | undefined;
}

/** The fields of an object that are kept, each if its value has this form. */
type Fields = Record<string, z.ZodType>;

const ifItFits = (form: z.ZodType) => form.optional().catch(undefined);
const objectOf = (fields: Fields) =>
  z.object(Object.fromEntries(Object.entries(fields).map(([name, form]) => [name, ifItFits(form)])));
const listOf = (form: z.ZodType) =>
  z.array(ifItFits(form)).transform((list) => list.filter((one) => one !== undefined));
const fieldsOf = (form: z.ZodType, names: string): Fields =>
  Object.fromEntries(names.split(' ').map((name) => [name, form]));

const below = (limit: number) => z.number().gt(-limit).lt(limit);
// A longer number may be a phone number.
const smallNumber = below(10_000_000);
const count = below(10_000);
const flag = z.boolean();
const amount = z.union([smallNumber, z.string().regex(/^-?\d{1,7}(\.\d{1,4})?$/)]);
const shortId = z.union([smallNumber, z.guid()]);
/** Only in answers that are about a company or its products: elsewhere it may be a name. */
const word = z.string().regex(/^(?=.{1,40}$)[A-Za-z]+(_[A-Za-z]+)*$/);
/** An instant with nanoseconds has 35 characters. Not `max`, with which zod looks into the `length` of an object, too. */
const instant = z.string().refine((text) => text.length <= 35 && readInstant(text));
/** `words`: those that only the contract profile knows. */
const statusAmong = (words: readonly string[]) =>
  z.string().refine((text) => toKnownStatus(text) ?? words.some((known) => statusKey(known) === statusKey(text)));

/** The fields of an order beside its id and its status (assumed). The code of the supplier, which starts or ends a ride, is kept if it is a short number. */
const orderFields = (status: z.ZodType): Fields => ({
  ...fieldsOf(instant, 'requested_at scheduled_at will_arrive_at_pickup pickedup_at droppedoff_at'),
  supplier: objectOf({ code: z.string().regex(/^\d{1,6}$/) }),
  stops: listOf(
    objectOf({
      type: z.enum(['origin', 'on_going', 'destination']),
      progress_status: status,
      actions: listOf(objectOf({ type: z.enum(['pick_up', 'stop_by', 'drop_off']), status })),
    }),
  ),
});

/** The service may put an answer into `data`, as it does with orders (assumed). */
const orInData = (fields: Fields) => objectOf({ ...fields, data: objectOf(fields) });

/** A receipt (assumed). */
const receipt = orInData({
  payment_summary: objectOf({
    currency_code: z.string().regex(/^[A-Z]{3}$/),
    ...fieldsOf(amount, 'total_exc_tax total_inc_tax total_tax'),
  }),
  calculation: objectOf(
    fieldsOf(
      amount,
      'additional_fee cancellation commissions commitment driving extras stop_points tech_fee tax tips tolls total_without_commissions',
    ),
  ),
});

const product = objectOf({
  product_id: z.guid(),
  name: word,
  price_concept: word,
  edit_future_order_enabled: flag,
  ...fieldsOf(count, 'edit_before_scheduled_at_min riders'),
});
const products: Fields = { transportation: listOf(product), delivery: listOf(product) };

const settings = orInData({
  ...fieldsOf(flag, 'mandatory_destination allow_multi_riders'),
  references: listOf(objectOf({ id: shortId, mandatory: flag })),
  payment_types: listOf(word),
});

/** `sent`: the texts of the call. */
const addedCodes = (sent: readonly unknown[]) =>
  objectOf({
    has_errors: flag,
    data: listOf(objectOf({ id: shortId, value: z.string().refine((text) => sent.includes(text)) })),
    errors: listOf(objectOf({ index: count, code: word, field_errors: listOf(objectOf({ field: word, code: word })) })),
  });

/** An object with these fields at each of the places, which are names on the way to it. */
function objectAt(places: readonly (readonly string[])[], fields: Fields): z.ZodType {
  const next = new Set(places.flatMap(([name]) => name ?? []));
  const inner = [...next].map((name) => {
    const below = places.flatMap(([first, ...rest]) => (first === name ? [rest] : []));
    return [name, objectAt(below, fields)] as const;
  });
  return objectOf({ ...(places.some(({ length }) => length === 0) && fields), ...Object.fromEntries(inner) });
}

/** An order wherever the profile says that its status or its id stands. */
function orderIn({ call: { orderId }, profile: { pointers, statuses } }: KeptCall): z.ZodType {
  const { orderDetails, createOrder } = pointers;
  const ids = [...orderDetails.orderId, ...createOrder.orderId];
  const status = statusAmong(statuses.terminal);
  const ownId = z.union([z.string(), z.number()]).refine((id) => String(id) === orderId);
  const nameOf = (pointer: string): string => pointerTokens(pointer)?.at(-1) ?? '';
  const places = [...orderDetails.status, ...ids].map((pointer) => pointerTokens(parentPointer(pointer)) ?? []);
  return objectAt(places, {
    ...orderFields(status),
    ...Object.fromEntries(ids.map((pointer) => [nameOf(pointer), ownId])),
    ...Object.fromEntries(orderDetails.status.map((pointer) => [nameOf(pointer), status])),
  });
}

function formOf(about: KeptCall): z.ZodType {
  const { operation, body } = about.call;
  switch (operation) {
    case 'companySettings':
      return settings;
    case 'products':
      return orInData({ ...products, products: objectOf(products) });
    case 'addReferenceCode':
      return addedCodes(Array.isArray(body) ? body.map((one) => ownValue(one, 'value')) : []);
    case 'orderReceipt':
      return receipt;
    case 'createOrder':
    case 'orderDetails':
    case 'updateOrder':
    case 'cancelOrder':
      return orderIn(about);
  }
}

const impersonal = objectOf(orderFields(statusAmong([])));

/** What is kept of an order in clear: nothing that can be about a driver or a passenger. */
export const impersonalOrder = (order: unknown): unknown => ifItFits(impersonal).parse(order);

/** The same of a receipt. */
export const impersonalReceipt = (answer: JsonObject): JsonObject => receipt.parse(answer);

/** The sums of a receipt. */
export function toReceiptAmounts(answer: JsonObject): ReceiptAmounts {
  const { payment_summary, data } = impersonalReceipt(answer);
  const summary = payment_summary ?? ownValue(data, 'payment_summary');
  const text = (name: string): string | null => {
    const value = ownValue(summary, name);
    return value === undefined ? null : String(value);
  };
  return {
    currency: text('currency_code'),
    total: text('total_inc_tax'),
    net: text('total_exc_tax'),
    tax: text('total_tax'),
  };
}

/** What the reader of an answer to a call has to know of the call. */
export interface KeptCall extends Keeping {
  call: { operation: BusinessOperation; orderId?: string | undefined; body?: unknown };
  profile: Pick<ContractProfile, 'pointers' | 'statuses'>;
}

/**
 * What is kept of the answer to a call; null for no answer. It is the whole answer where personal data may be kept. Otherwise it is what
 * stands at a place and has a form that this module lists (the names are assumed): no name, phone number, picture, plate, address, free text.
 */
export function toKeptAnswer(answer: unknown, about: KeptCall): unknown {
  return (about.keepsPersonalData ? answer : ifItFits(formOf(about)).parse(answer)) ?? null;
}
