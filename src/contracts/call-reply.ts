import { isOrderId, type OrderId } from '../domain/keys.js';
import type { ContractProfile } from './contract-profile.js';
import { isJsonObject, type JsonObject, ownValue, parentPointer, valueAt } from './json.js';
import { findOrderId, findStatus, statusOf } from './order-reply.js';

/** The order id in the answer to a create; undefined if it has no usable one. */
export function findCreatedOrder(body: unknown, { createOrder }: ContractProfile['pointers']): OrderId | undefined {
  const orderId = findOrderId(body, createOrder.orderId);
  return orderId !== undefined && isOrderId(orderId) ? orderId : undefined;
}

type OrderProfile = Pick<ContractProfile, 'pointers' | 'statuses'>;

const statusIn = (body: unknown, { pointers, statuses }: OrderProfile) =>
  findStatus(body, pointers.orderDetails.status, statuses.notOrderStatus);

/** Does the order show that the service has carried out a cancellation? */
export function isCancelled(body: unknown, profile: OrderProfile): boolean {
  const status = statusIn(body, profile);
  return status !== undefined && statusOf(status.word, profile.statuses) === 'Cancelled';
}

/** Does the order have every field as the change requested? */
export function isChanged(body: unknown, wanted: unknown, profile: OrderProfile): boolean {
  const status = statusIn(body, profile);
  return status !== undefined && holds(valueAt(body, parentPointer(status.pointer)), wanted);
}

function holds(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(actual) &&
      actual.length === wanted.length &&
      wanted.every((item, index) => holds(actual[index], item))
    );
  }
  if (isJsonObject(wanted)) {
    return Object.entries(wanted).every(([field, value]) => holds(ownValue(actual, field), value));
  }
  return actual === wanted || isSameInstant(actual, wanted);
}

const isSameInstant = (one: unknown, other: unknown): boolean =>
  [one, other].every((value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) &&
  Date.parse(String(one)) === Date.parse(String(other));

/** Words for "exists already". Which one the service uses is unknown. */
const duplicateCode = /duplicat|exist|taken|uniq|conflict/i;

function codesOf(error: JsonObject): unknown[] {
  const fields = error.field_errors;
  return [error.code, ...(Array.isArray(fields) ? fields.map((field) => ownValue(field, 'code')) : [])];
}

const isDuplicate = (error: unknown): error is JsonObject & { index: number } =>
  isJsonObject(error) &&
  Number.isSafeInteger(error.index) &&
  codesOf(error).some((code) => typeof code === 'string' && duplicateCode.test(code));

/**
 * The answer to a repeated request that adds codes, where the first answer was lost. Codes that the service refuses as duplicates
 * were added by the first request, so they count as added, with a null `id`. Any other answer stays unchanged.
 */
export function withDuplicatesAdded(body: unknown, sent: unknown): unknown {
  const errors = ownValue(body, 'errors');
  if (!isJsonObject(body) || !Array.isArray(errors) || !Array.isArray(sent)) return body;
  const added = errors
    .filter(isDuplicate)
    .flatMap(({ index }) => (index in sent ? [{ id: null, value: ownValue(sent[index], 'value') }] : []));
  if (added.length === 0) return body;
  const left = errors.filter((error) => !(isDuplicate(error) && error.index in sent));
  const data = Array.isArray(body.data) ? body.data : [];
  return { ...body, has_errors: left.length > 0, data: [...data, ...added], errors: left };
}
