import type { BusinessOperation } from '../domain/call.js';
import { readInstant } from '../domain/instant.js';
import { isSameId } from '../domain/keys.js';
import { statusKey, toKnownStatus } from '../domain/order/status.js';
import type { ReceiptAmounts } from '../domain/report.js';
import type { ContractProfile } from './contract-profile.js';
import { isJsonObject, type JsonObject, jsonInside, ownValue, pointerTokens } from './json.js';

/** Whether an answer keeps personal data. Default: no. */
export interface Keeping {
  keepsPersonalData?: boolean | undefined;
}

/** May this value be kept? */
type Form = (value: unknown) => boolean;

const text =
  (pattern: RegExp): Form =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const among =
  (values: readonly unknown[]): Form =>
  (value) =>
    values.includes(value);
const below =
  (limit: number): Form =>
  (value) =>
    typeof value === 'number' && Math.abs(value) < limit;
// A longer number may be a phone number.
const smallNumber = below(10_000_000);
const decimal = text(/^-?\d{1,7}(\.\d{1,4})?$/);
const amount: Form = (value) => smallNumber(value) || decimal(value);
/** Nulls stand in receipts for what was not charged (published). */
const amountOrNone: Form = (value) => value === null || amount(value);
/** A word of the company's catalogue: one line of letters, digits and signs, without what may be a phone number. */
const title: Form = (value) =>
  typeof value === 'string' &&
  /^[\p{L}\p{N}][\p{L}\p{N} .,&'()/+-]{0,79}$/u.test(value) &&
  value.replace(/\P{N}/gu, '').length < 7;
const flag = among([true, false]);
const uuid = text(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i);
const word = text(/^(?=.{1,40}$)[A-Za-z]+(_[A-Za-z]+)*$/);
/** An instant with nanoseconds has 35 characters. */
const instant: Form = (value) => typeof value === 'string' && value.length <= 35 && readInstant(value) !== undefined;
/** `words`: those that only the contract profile knows. */
const statusAmong = (words: readonly string[] = []): Form => {
  const own = words.map(statusKey);
  return (value) => typeof value === 'string' && (toKnownStatus(value) !== undefined || own.includes(statusKey(value)));
};

/** In place of a name: any word in small letters. */
const anyName = '*';
const fieldWord = /^[a-z]+(_[a-z]+)*$/;

const each = (names: string, form: Form): [string, Form][] => names.split(' ').map((name) => [name, form]);

/** The objects of an order or a receipt that are looked into (published): not those of drivers, passengers and places. */
const parts = 'additional_fee cancellation commissions commitment driving extras stop_points tech_fee tax tips tolls';
const costs = `${parts} total_without_commissions`;
const amounts = 'total_exc_tax total_inc_tax total_tax';
const objects = `data order supplier stops actions payment_summary calculation ${costs} summary details`.split(' ');

/** The fields that are kept of these objects (published), each if its value has this form. */
const keptFields: readonly [string, Form][] = [
  ...each('requested_at scheduled_at will_arrive_at_pickup pickedup_at droppedoff_at', instant),
  ...each('type', among(['origin', 'on_going', 'destination', 'pick_up', 'stop_by', 'drop_off'])),
  ...each('status progress_status', statusAmong()),
  ...each('supplier/code', text(/^\d{1,6}$/)), // it starts or ends a ride
  ...each('currency_code', text(/^[A-Z]{3}$/)),
  ...each(`${amounts} ${costs}`, amountOrNone),
  ...each('summary/amount summary/amount_exc_tax summary/amount_inc_tax', amountOrNone),
  ...each(`details/${anyName}`, amountOrNone), // the parts of a cost have names of their own
];

/** More fields of a page of reports (published). */
const reportFields: readonly [string, Form][] = [
  ...each('result_size total_orders_in_period orders_count', below(10_000_000)),
  ...each('sum_total_exc_tax sum_total_inc_tax', amountOrNone),
  ...each('orders/id', (value) => Number.isSafeInteger(value) || text(/^\d{1,20}$/)(value)),
  ...each('business_id', uuid),
  ...each('country', text(/^[A-Z]{2}$/)),
  ...each('category', among(['transportation', 'delivery'])),
  ...each('product_name', title),
  ...each('timezone', text(/^[A-Za-z_]{1,30}\/[A-Za-z_]{1,40}$/)),
];

const companyObjects = 'data products transportation delivery references errors field_errors price'.split(' ');
/** The same of answers about a company and its products. Elsewhere a word may be a name, and an id that of a person. */
const companyFields: readonly [string, Form][] = [
  ...each('transportation/name delivery/name transportation/description delivery/description references/title', title),
  ...each('payment_types', (value) => word(value) || title(value)),
  ...each('price_concept', word),
  ...each('errors/code field_errors/code field_errors/field', word),
  ...each('edit_future_order_enabled mandatory_destination allow_multi_riders mandatory', flag),
  ...each('has_errors', flag),
  ...each('edit_before_scheduled_at_min riders index', below(10_000)),
  ...each('data/id references/id product_id quote_id', (value) => smallNumber(value) || uuid(value)),
  ...each('price price/value', amount),
  ...each('price/included_tax', flag),
  ...each('currency_code', text(/^[A-Z]{3}$/)),
  ...each('currency', text(/^(\p{Sc}|[A-Z]{3})$/u)),
];

/** What a text holds as JSON; any other value as it is. */
function opened(value: unknown): unknown {
  const json = typeof value === 'string' ? jsonInside(value) : undefined;
  return json?.flaw === null ? json.value : value;
}

/**
 * What is kept of a value: of an object the known fields, of a list what is kept of its entries. Undefined: nothing. `inside`: the names of the
 * objects to look into; `parent`: that of the value.
 */
function kept(value: unknown, fields: ReadonlyMap<string, Form>, inside: readonly string[], parent = ''): unknown {
  if (Array.isArray(value)) return value.flatMap((one) => kept(one, fields, inside, parent) ?? []);
  if (!isJsonObject(value)) return undefined;
  const entries = Object.entries(value).flatMap(([name, inner]) => {
    const ofAny = fieldWord.test(name) ? fields.get(`${parent}/${anyName}`) : undefined;
    const form = fields.get(`${parent}/${name}`) ?? ofAny ?? fields.get(name);
    if (form && Array.isArray(inner)) return [[name, inner.filter(form)]];
    if (form?.(inner)) return [[name, inner]];
    const found = inside.includes(name) ? kept(opened(inner), fields, inside, name) : undefined;
    return found === undefined ? [] : [[name, found]];
  });
  return Object.fromEntries(entries);
}

/** What is kept of an order or a receipt in clear: nothing that can be about a driver or a passenger. */
export const impersonal = (answer: unknown): unknown => kept(answer, new Map(keptFields), objects);

/** The sums of a receipt. */
export function toReceiptAmounts(answer: JsonObject): ReceiptAmounts {
  const { payment_summary, data } = impersonal(answer) as JsonObject;
  const summary = payment_summary ?? ownValue(data, 'payment_summary');
  const sum = (name: string): string | null => {
    const value = ownValue(summary, name);
    return value === undefined || value === null ? null : String(value);
  };
  return {
    currency: sum('currency_code'),
    total: sum('total_inc_tax'),
    net: sum('total_exc_tax'),
    tax: sum('total_tax'),
  };
}

/** What the reader of an answer to a call has to know of the call. */
export interface KeptCall extends Keeping {
  call: { operation: BusinessOperation; orderId?: string | undefined; body?: unknown };
  profile: Pick<ContractProfile, 'pointers' | 'statuses'>;
}

const aboutCompany: readonly BusinessOperation[] = ['companySettings', 'products', 'priceEstimate', 'addReferenceCode'];

/**
 * What is kept of the answer to a call; null for no answer. It is the whole answer where personal data may be kept. Otherwise it is what
 * stands under a name and has a form that this module lists: no name, phone number, picture, plate, address, free text. Id and status of an
 * order are kept wherever the profile says that they stand.
 */
export function toKeptAnswer(answer: unknown, { keepsPersonalData, call, profile }: KeptCall): unknown {
  if (keepsPersonalData) return answer ?? null;
  const { operation, orderId, body } = call;
  if (aboutCompany.includes(operation)) {
    const sent = Array.isArray(body) ? body.map((one) => ownValue(one, 'value')) : [];
    return kept(answer, new Map([...companyFields, ['value', among(sent)]]), companyObjects) ?? null;
  }
  if (operation === 'orderReport')
    return kept(answer, new Map([...keptFields, ...reportFields]), [...objects, 'orders', 'totals']) ?? null;
  const { orderDetails, createOrder } = profile.pointers;
  const ids = [...orderDetails.orderId, ...createOrder.orderId].map((pointer) => pointerTokens(pointer) ?? []);
  const statuses = orderDetails.status.map((pointer) => pointerTokens(pointer) ?? []);
  const status = statusAmong([...profile.statuses.terminal, ...Object.keys(profile.statuses.words)]);
  const fields = new Map<string, Form>([
    ...keptFields,
    ...each('status progress_status', status),
    ...statuses.map((names): [string, Form] => [names.at(-1) ?? '', status]),
    ...ids.map((names): [string, Form] => [
      names.at(-1) ?? '',
      (id) => orderId !== undefined && isSameId(String(id), orderId),
    ]),
  ]);
  const way = [...ids, ...statuses].flatMap((names) => names.slice(0, -1));
  return kept(answer, fields, [...objects, ...way]) ?? null;
}
