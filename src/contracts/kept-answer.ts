import type { BusinessOperation } from '../domain/call.js';
import { readInstant } from '../domain/instant.js';
import { statusKey, toKnownStatus } from '../domain/order/status.js';
import type { ReceiptAmounts } from '../domain/report.js';
import type { ContractProfile } from './contract-profile.js';
import { isJsonObject, type JsonObject, ownValue, parentPointer, pointerTokens } from './json.js';

/** Whether an answer keeps personal data. Default: no. */
export interface Keeping {
  keepsPersonalData?: boolean | undefined;
}

/** What the reader of an answer knows without it: only such an id, word or value is kept where any text could stand. */
interface Known {
  orderId?: string | undefined;
  /** Status words that only the contract profile knows. */
  words?: readonly string[];
  /** The values of the call. */
  sent?: ReadonlySet<unknown>;
}

/** A check of one value. */
type Leaf = (value: unknown, known: Known) => boolean;
/** What is kept of one place: a value that passes, each element of a list, or the named fields of an object. */
type Kept = Leaf | readonly [Kept] | KeptFields;
type KeptFields = { readonly [field: string]: Kept };

const matching =
  (pattern: RegExp): Leaf =>
  (value) =>
    typeof value === 'string' && pattern.test(value);

const oneOf = (...words: string[]): Leaf => matching(new RegExp(`^(${words.join('|')})$`));
const below =
  (limit: number): Leaf =>
  (value) =>
    typeof value === 'number' && Math.abs(value) < limit;
const either =
  (...leaves: Leaf[]): Leaf =>
  (value, known) =>
    leaves.some((leaf) => leaf(value, known));

// A longer number may be a phone number.
const smallNumber = below(10_000_000);
const count = below(10_000);
const flag: Leaf = (value) => typeof value === 'boolean';
const uuid = matching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i);
const amount = either(smallNumber, matching(/^-?\d{1,7}(\.\d{1,4})?$/));
/** Only in answers that are about a company or its products: elsewhere it may be a name. */
const word = matching(/^(?=.{1,40}$)[A-Za-z]+(_[A-Za-z]+)*$/);
/** An instant with nanoseconds has 35 characters. */
const instant: Leaf = (value) => typeof value === 'string' && value.length <= 35 && readInstant(value) !== undefined;
const status: Leaf = (value, { words = [] }) =>
  typeof value === 'string' &&
  (toKnownStatus(value) !== undefined || words.some((known) => statusKey(known) === statusKey(value)));
const ownId: Leaf = (value, { orderId }) => ['string', 'number'].includes(typeof value) && String(value) === orderId;
const sentValue: Leaf = (value, { sent }) => sent?.has(value) === true;

/** The fields of an order beside its id and its status (assumed). The code of the supplier, which starts or ends a ride, is kept if it is a short number. */
const orderFields: KeptFields = {
  requested_at: instant,
  scheduled_at: instant,
  will_arrive_at_pickup: instant,
  pickedup_at: instant,
  droppedoff_at: instant,
  supplier: { code: matching(/^\d{1,6}$/) },
  stops: [
    {
      type: oneOf('origin', 'on_going', 'destination'),
      progress_status: status,
      actions: [{ type: oneOf('pick_up', 'stop_by', 'drop_off'), status }],
    },
  ],
};

const fieldsOf = (kept: Leaf, names: string): KeptFields =>
  Object.fromEntries(names.split(' ').map((name) => [name, kept]));

/** A receipt (assumed). */
const receiptFields: KeptFields = {
  payment_summary: {
    currency_code: matching(/^[A-Z]{3}$/),
    ...fieldsOf(amount, 'total_exc_tax total_inc_tax total_tax'),
  },
  calculation: fieldsOf(
    amount,
    'additional_fee cancellation commissions commitment driving extras stop_points tech_fee tax tips tolls total_without_commissions',
  ),
};

const product: KeptFields = {
  product_id: uuid,
  name: word,
  price_concept: word,
  edit_future_order_enabled: flag,
  ...fieldsOf(count, 'edit_before_scheduled_at_min riders'),
};
const products: KeptFields = { transportation: [product], delivery: [product] };

const settings: KeptFields = {
  ...fieldsOf(flag, 'mandatory_destination allow_multi_riders'),
  references: [{ id: either(smallNumber, uuid), mandatory: flag }],
  payment_types: [word],
};

const addedCodes: KeptFields = {
  has_errors: flag,
  data: [{ id: either(smallNumber, uuid), value: sentValue }],
  errors: [{ index: count, code: word, field_errors: [{ field: word, code: word }] }],
};

/** The service may put an answer into `data`, as it does with orders (assumed). */
const orInData = (fields: KeptFields): KeptFields => ({ ...fields, data: fields });

const isFields = (kept: Kept | undefined): kept is KeptFields => typeof kept === 'object' && !Array.isArray(kept);

const merged = (one: KeptFields, other: KeptFields): KeptFields => {
  const both = (name: string, added: Kept): Kept => {
    const before = Object.hasOwn(one, name) ? one[name] : undefined;
    return isFields(before) && isFields(added) ? merged(before, added) : added;
  };
  return { ...one, ...Object.fromEntries(Object.entries(other).map(([name, kept]) => [name, both(name, kept)])) };
};

const at = (pointer: string, kept: KeptFields): KeptFields =>
  (pointerTokens(pointer) ?? []).reduceRight((inner: KeptFields, token) => ({ [token]: inner }), kept);

/** An order wherever the profile says that its status or its id stands. */
function orderIn({ orderDetails, createOrder }: ContractProfile['pointers']): KeptFields {
  const ids = [orderDetails, createOrder].flatMap(({ orderId }) => orderId);
  const places = [
    ...orderDetails.status.map((pointer) => ({ pointer, leaf: status })),
    ...ids.map((pointer) => ({ pointer, leaf: ownId })),
  ];
  const fields = ({ pointer, leaf }: { pointer: string; leaf: Leaf }): KeptFields => {
    const [name = ''] = pointerTokens(pointer)?.slice(-1) ?? [];
    return at(parentPointer(pointer), merged(orderFields, { [name]: leaf }));
  };
  return places.map(fields).reduce(merged, {});
}

const keptOf: Record<BusinessOperation, (pointers: ContractProfile['pointers']) => KeptFields> = {
  companySettings: () => orInData(settings),
  products: () => orInData({ ...products, products }),
  createOrder: orderIn,
  orderDetails: orderIn,
  updateOrder: orderIn,
  cancelOrder: orderIn,
  addReferenceCode: () => addedCodes,
  orderReceipt: () => orInData(receiptFields),
};

/** A copy that holds nothing but what is kept. The depth is that of `kept`, whatever the value is. */
function only(value: unknown, kept: Kept, known: Known): unknown {
  if (typeof kept === 'function') return kept(value, known) ? value : undefined;
  if (!isFields(kept)) {
    const [each] = kept;
    const elements = Array.isArray(value) ? value.map((element) => only(element, each, known)) : undefined;
    return elements?.filter((element) => element !== undefined);
  }
  return isJsonObject(value) ? onlyFields(value, kept, known) : undefined;
}

function onlyFields(value: JsonObject, kept: KeptFields, known: Known): JsonObject {
  const fields = Object.entries(kept).map(
    ([name, inner]) => [name, only(ownValue(value, name), inner, known)] as const,
  );
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}

/** What is kept of an order in clear: nothing that can be about a driver or a passenger. */
export const impersonalOrder = (order: unknown): unknown => only(order, orderFields, {});

/** The same of a receipt. */
export const impersonalReceipt = (receipt: JsonObject): JsonObject => onlyFields(receipt, orInData(receiptFields), {});

/** The sums of a receipt. */
export function toReceiptAmounts(receipt: JsonObject): ReceiptAmounts {
  const { payment_summary, data } = impersonalReceipt(receipt);
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
export function toKeptAnswer(answer: unknown, { call, profile, keepsPersonalData = false }: KeptCall): unknown {
  if (keepsPersonalData) return answer ?? null;
  const { operation, orderId, body } = call;
  const values = Array.isArray(body) ? body.map((one) => ownValue(one, 'value')) : [];
  const known: Known = {
    orderId,
    words: profile.statuses.terminal,
    sent: new Set(values.filter((value) => typeof value === 'string')),
  };
  return only(answer, keptOf[operation](profile.pointers), known) ?? null;
}
