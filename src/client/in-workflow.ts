import { defineSignal, log, setHandler } from '@temporalio/workflow';
import type { OrderChange } from '../domain/order/trail.js';

export { failureTypeOf } from '../temporal/failure-type.js';
export type { OrderChange };

const isText = (value: unknown): boolean => typeof value === 'string';
const isTextOrNull = (value: unknown): boolean => value === null || isText(value);

function isAttention(value: unknown): boolean {
  const { code, message, since } = (value ?? {}) as Record<string, unknown>;
  return value === null || [code, message, since].every(isText);
}

/** Any program may send a signal, and an error in a handler would block the run of the caller. */
function isOrderChange(value: unknown): value is OrderChange {
  const { account, orderId, status, rawStatus, terminal, outcome, attention } = (value ?? {}) as Record<
    string,
    unknown
  >;
  const isAboutOrder = isText(account) && isText(orderId) && typeof terminal === 'boolean';
  return isAboutOrder && isAttention(attention ?? null) && [status, rawStatus, outcome].every(isTextOrNull);
}

/**
 * Calls `handler` for each change of a followed order in turn; the last change has an `outcome`. Call this in a workflow
 * before its first `await`, and follow the order with `notify: [{ workflowId, signal: signalName }]`. Keep the handler
 * synchronous: let it record, and let the main function decide. It logs and ignores a signal that is not a change.
 */
export function onRideChange(signalName: string, handler: (change: OrderChange) => void): void {
  setHandler(defineSignal<[unknown]>(signalName), (change) => {
    if (isOrderChange(change)) handler(change);
    else log.warn('a signal that is no change of an order', { signalName });
  });
}
