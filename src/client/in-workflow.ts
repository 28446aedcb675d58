import { defineSignal, log, setHandler } from '@temporalio/workflow';
import { type OrderChange, OrderChangeSchema } from '../domain/order/trail.js';
import { answered, answerOf, nullable, readOr } from '../domain/schema.js';

export { failureTypeOf } from '../temporal/failure-type.js';
export type { OrderChange };

/** A later release may know more outcomes. */
const ChangeSchema = answerOf({ ...OrderChangeSchema.fields, outcome: nullable(answered()) });

/**
 * Calls `handler` for each change of a followed order in turn; the last change has an `outcome`. Call this in a workflow
 * before its first `await`, and follow the order with `notify: [{ workflowId, signal: signalName }]`. Keep the handler
 * synchronous: let it record, and let the main function decide. It logs and ignores a signal that is not a change.
 */
export function onRideChange(signalName: string, handler: (change: OrderChange) => void): void {
  const record = (given: unknown): void => {
    // Any program may send a signal, and an error in a handler would block the run of the caller.
    if (readOr(ChangeSchema, given, null)) handler(given as OrderChange);
    else log.warn('a signal that is no change of an order', { signalName });
  };
  const description = 'Changes of an order that faretrail follows. Faretrail sends them.';
  setHandler(defineSignal<[unknown]>(signalName), record, { description });
}
