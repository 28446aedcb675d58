import { isOrderId, type OrderId } from '../domain/keys.js';
import { toRideStatus } from '../domain/ride-status.js';
import type { ContractProfile } from './contract-profile.js';
import { isJsonObject, ownValue } from './json-object.js';
import { parentPointer, valueAt } from './json-pointer.js';
import { findOrderId, findStatus } from './order-reply.js';
import type { Keeping } from './ride-details.js';

/** All that is kept of these: whatever else comes, under whatever name, may say who the driver is. */
const impersonalFields: Readonly<Record<string, readonly string[]>> = {
  driver: ['rating', 'vehicle'],
  'driver.vehicle': ['model'],
};

/** An answer as it may be kept: who the driver is stays out unless that is kept, too (assumed spelling, upstream section
 *  5.2). Null for no answer. */
export const toKeptAnswer = (answer: unknown, { keepsPersonalData = false }: Keeping = {}): unknown =>
  keep(answer, '', keepsPersonalData);

function keep(value: unknown, name: string, keepsAll: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value ?? null;
  const inside = (inner: unknown, name: string): unknown => keep(inner, name, keepsAll);
  if (Array.isArray(value)) return value.map((item) => inside(item, name));
  const fields = keepsAll || !Object.hasOwn(impersonalFields, name) ? undefined : impersonalFields[name];
  const kept = Object.entries(value).filter(([field]) => fields?.includes(field) ?? true);
  const nameOf = (field: string): string => (name === 'driver' ? `driver.${field}` : field);
  return Object.fromEntries(kept.map(([field, inner]) => [field, inside(inner, nameOf(field))]));
}

/** The id in the answer to a create; undefined when there is none that can be used. */
export function findCreatedOrder(body: unknown, { createOrder }: ContractProfile['pointers']): OrderId | undefined {
  const orderId = findOrderId(body, createOrder.orderId);
  return orderId !== undefined && isOrderId(orderId) ? orderId : undefined;
}

type OrderProfile = Pick<ContractProfile, 'pointers' | 'statuses'>;

const statusIn = (body: unknown, { pointers, statuses }: OrderProfile) =>
  findStatus(body, pointers.orderDetails.status, statuses.notOrderStatus);

/** Does the order, as it was read, show that a cancellation has been carried out? */
export function isCancelled(body: unknown, profile: OrderProfile): boolean {
  const status = statusIn(body, profile);
  return status !== undefined && toRideStatus(status.word) === 'Cancelled';
}

/** Does the order, as it was read, show every field of a change as it was wanted? */
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
