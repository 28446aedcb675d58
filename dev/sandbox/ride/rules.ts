import { isSameStatus } from '../../../src/domain/order/status.js';
import { type Answer, errorAnswer } from '../answers.js';
import type { NewOrder } from './body.js';
import { findProduct, type SandboxProduct, sandboxReferenceFields } from './catalogue.js';
import type { RideSettings } from './settings.js';

/** 422: a business rule forbids the call. `field` names the wrong field. */
const broken = (code: string, field: string, message: string): Answer =>
  errorAnswer('business', 422, code, message, { fields: { [field]: message } });

const day = 86_400_000;
const farthestMs = 30 * day;

/** Refuses an order that the company may not place. */
export function refuseOrder(order: NewOrder, settings: RideSettings, now: number): Answer | undefined {
  return (
    refuseProduct(order) ??
    refuseTime(order.scheduled_at, now) ??
    refuseStops(order, settings) ??
    refuseReferences(order, settings)
  );
}

function refuseProduct({ product_id: id, category }: NewOrder): Answer | undefined {
  const product = findProduct(id);
  if (product?.category === category) return undefined;
  return broken('product_not_found', 'product_id', 'no such product in this category');
}

/** Refuses a time for which no order can be scheduled. */
export function refuseTime(scheduledAt: string | undefined, now: number): Answer | undefined {
  if (scheduledAt === undefined) return undefined;
  const at = Date.parse(scheduledAt);
  if (!(at > now)) return broken('scheduled_in_the_past', 'scheduled_at', 'must be in the future');
  if (at > now + farthestMs) return broken('scheduled_too_far_ahead', 'scheduled_at', 'at most 30 days ahead');
  return undefined;
}

function refuseStops({ stops }: NewOrder, { mandatoryDestination }: RideSettings): Answer | undefined {
  if (!mandatoryDestination || stops.some(({ type }) => type === 'destination')) return undefined;
  return broken('destination_required', 'stops', 'the company wants a destination');
}

function refuseReferences(order: NewOrder, { mandatoryReferences }: RideSettings): Answer | undefined {
  const { references = [] } = order;
  if (references.some(({ id }) => sandboxReferenceFields.every((field) => field.id !== id))) {
    return broken('reference_unknown', 'references', 'names a field that the company does not have');
  }
  if (mandatoryReferences.every((wanted) => references.some(({ id }) => id === wanted))) return undefined;
  return broken('reference_required', 'references', 'a mandatory reference is missing');
}

/** The service's own list is unknown; the sandbox allows a cancel in these statuses. */
const cancellable = ['Pending', 'Reserved', 'Unreserved', 'Routing', 'Confirmed', 'Waiting', 'CareReq'];

export function refuseCancel(status: string): Answer | undefined {
  if (cancellable.some((word) => isSameStatus(word, status))) return undefined;
  return broken('order_not_cancellable', 'status', 'an order in this status cannot be cancelled');
}

const minute = 60_000;

export interface EditedOrder {
  status: string;
  /** ISO instant; undefined: on-demand. */
  scheduledAt: string | undefined;
  product: SandboxProduct | undefined;
}

/** Only a scheduled order that waits for its time can change, if its product allows it, and before the cut-off (assumed). */
export function refuseEdit(
  { status, scheduledAt, product }: EditedOrder,
  { speed, now }: { speed: number; now: number },
): Answer | undefined {
  if (!isSameStatus(status, 'Reserved') || scheduledAt === undefined) {
    return broken('order_not_editable', 'status', 'only a scheduled order that waits for its time can be changed');
  }
  if (product?.editable === false) return broken('product_not_editable', 'product_id', 'its orders cannot be changed');
  const cutOffMs = ((product?.editBeforeMinutes ?? 0) * minute) / speed;
  if (now < Date.parse(scheduledAt) - cutOffMs) return undefined;
  return broken('too_late_to_edit', 'scheduled_at', 'too late to change the order');
}
