import { z } from 'zod';
import { type RideInterface, rideInterfaces } from '../../../src/domain/account.js';
import { InvalidInput } from '../../../src/domain/errors.js';

const ScriptStep = z.strictObject({ status: z.string().min(1), afterMs: z.number().min(0) });

/** The statuses of an order one after the other. */
export const ScriptSchema = z
  .array(ScriptStep)
  .min(1)
  .refine((steps) => steps[0]?.afterMs === 0, 'the first step must have afterMs 0')
  .refine(
    (steps) => steps.every((step, i) => step.afterMs >= (steps[i - 1]?.afterMs ?? 0)),
    'afterMs counts from the adding of the order, so it must not decrease',
  );

/** An order to play. `details` replace generated fields of the order, so they can also break the answer. */
export const SandboxOrderSchema = z.strictObject({
  interface: z.enum(rideInterfaces),
  orderId: z.string().min(1),
  script: ScriptSchema,
  scheduledAt: z.iso.datetime({ offset: true }).optional(),
  details: z.record(z.string(), z.unknown()).optional(),
});
export type SandboxOrder = z.infer<typeof SandboxOrderSchema>;

/** A played order: its statuses and their instants (epoch milliseconds). */
export interface LiveOrder {
  order: SandboxOrder;
  addedAt: number;
  steps: { status: string; at: number }[];
}

/** The statuses of an order, each with the instant at which it takes it. */
export type OrderCourse = { status: string; at: string }[];

export type OrderBook = ReturnType<typeof createOrderBook>;

/** The status at `now`: the one of the last reached step. */
export function statusAt({ steps }: LiveOrder, now: number): string {
  const reached = steps.findLast((step) => step.at <= now) ?? steps[0];
  return reached?.status ?? '';
}

/** RFC 3339 to the second, as the service writes instants of orders. */
export const toSeconds = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

export const requestedTimeOf = ({ addedAt }: LiveOrder): string => toSeconds(addedAt);

/** Equal to the requested time for an order on demand (published 2.3). */
export const scheduledTimeOf = (live: LiveOrder): string => live.order.scheduledAt ?? requestedTimeOf(live);

/** Called after every change of an order's steps. `isNew`: a call has just made the order. */
export type StepsListener = (order: LiveOrder, isNew: boolean) => void;

/** All orders of a sandbox. `speed` divides every `afterMs`. */
export function createOrderBook(speed: number, onSteps: StepsListener = () => {}) {
  const live = new Map<string, LiveOrder>();
  const keyOf = (at: RideInterface, orderId: string) => `${at}/${orderId}`;
  const find = (at: RideInterface, orderId: string) => live.get(keyOf(at, orderId));
  const get = (at: RideInterface, orderId: string) => {
    const found = find(at, orderId);
    if (!found) throw new InvalidInput(`orderId: the ${at} interface has no order ${orderId}`);
    return found;
  };
  /** Replaces the rest of the script by other steps, which count from now. */
  const continueWith = (at: RideInterface, orderId: string, script: SandboxOrder['script']): void => {
    const order = get(at, orderId);
    const now = Date.now();
    const steps = script.map(({ status, afterMs }) => ({ status, at: now + afterMs / speed }));
    order.steps = [...order.steps.filter((step) => step.at <= now), ...steps];
    onSteps(order, false);
  };
  return {
    find,
    /** The past and coming statuses of an order, with ISO instants. */
    course: (at: RideInterface, orderId: string): OrderCourse =>
      get(at, orderId).steps.map((step) => ({ status: step.status, at: new Date(step.at).toISOString() })),
    count: () => live.size,
    all: () => live.values(),
    /** `isCreated`: a call has just made it, so that its first status is news. */
    add(order: SandboxOrder, { isCreated }: { isCreated: boolean }): void {
      if (find(order.interface, order.orderId)) throw new InvalidInput(`orderId: ${order.orderId} was added before`);
      const addedAt = Date.now();
      const steps = order.script.map(({ status, afterMs }) => ({ status, at: addedAt + afterMs / speed }));
      const added = { order, addedAt, steps };
      live.set(keyOf(order.interface, order.orderId), added);
      onSteps(added, isCreated);
    },
    /** Sets a status, and drops the rest of the script. */
    setStatus: (at: RideInterface, orderId: string, status: string): void =>
      continueWith(at, orderId, [{ status, afterMs: 0 }]),
    continueWith,
    /** Gives the order another scheduled time, and keeps its script. */
    reschedule(at: RideInterface, orderId: string, scheduledAt: string): void {
      const live = get(at, orderId);
      live.order = { ...live.order, scheduledAt };
    },
    /** Takes the next step of the script now, and moves later steps with it. Returns the status. */
    advance(at: RideInterface, orderId: string): string {
      const order = get(at, orderId);
      const now = Date.now();
      const next = order.steps.find((step) => step.at > now);
      const lead = next ? next.at - now : 0;
      order.steps = order.steps.map((step) => (step.at > now ? { ...step, at: step.at - lead } : step));
      onSteps(order, false);
      return statusAt(order, now);
    },
  };
}
