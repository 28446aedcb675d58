import { z } from 'zod';
import { isTokenOperation, type OperationName, operations } from './operations.js';

const Where = z.strictObject({
  operation: z.enum(operations).optional(),
  orderId: z.string().min(1).optional(),
  /** How many calls the fault hits. Default: every call until it is cleared. */
  times: z.int().min(1).optional(),
  /** The chance for each matching call, from the seeded random source. */
  probability: z.number().min(0).max(1).optional(),
});

const kind = <K extends string>(name: K) => Where.extend({ kind: z.literal(name) });

const RetryAfter = {
  /** Default: no such header. */
  retryAfterSeconds: z.int().min(0).optional(),
  retryAfterAs: z.enum(['seconds', 'date']).default('seconds'),
};
/** `request`: the sandbox does not carry out the call. `answer`: it does, and only replaces the answer. */
const Effect = { when: z.enum(['request', 'answer']).default('request') };
const TokenError = { shape: z.enum(['rfc6749', 'envelope']).default('rfc6749') };
const HttpStatus = z.int().min(200).max(599);

const AnyFault = z.discriminatedUnion('kind', [
  kind('unauthorized'),
  kind('forbidden'),
  kind('notFound'),
  kind('serverError').extend(Effect),
  kind('tooManyRequests').extend(RetryAfter),
  kind('unavailable').extend({ ...RetryAfter, ...Effect }),
  /** The sandbox carries out the call at once and answers after `delayMs`, when the answer may be stale. */
  kind('slow').extend({ delayMs: z.int().min(0) }),
  /** Sends the headers at once, then the body in pieces over `durationMs`. */
  kind('slowBody').extend({ durationMs: z.int().min(0) }),
  /** `request`: does not carry out the call. `answer`: carries it out without an answer. `middle`: sends half of the body. */
  kind('dropConnection').extend({ when: z.enum(['request', 'answer', 'middle']).default('request') }),
  kind('malformedJson'),
  /** Valid JSON, `bytes` long: far more than a client should read. */
  kind('hugeJson').extend({ bytes: z.int().min(1_048_577).default(67_108_864) }),
  kind('emptyBody'),
  kind('html').extend({ ...Effect, status: HttpStatus.default(200) }),
  kind('redirect'),
  kind('errorInSuccess'),
  kind('reply').extend({
    ...Effect,
    status: HttpStatus,
    headers: z.record(z.string(), z.string()).default({}),
    /** The sandbox sends text unchanged, anything else as JSON. */
    body: z.unknown().optional(),
    /** Bytes to send instead, in base64. */
    bytes: z.base64().optional(),
  }),
  /** The usual token answer `without` some fields and `with` others. */
  kind('tokenAnswer').extend({
    without: z.array(z.string()).default([]),
    with: z.record(z.string(), z.unknown()).default({}),
  }),
  /** The usual answer to a new subscriber `without` some fields, such as `secret_id`, and `with` others. */
  kind('subscriberAnswer').extend({
    without: z.array(z.string()).default([]),
    with: z.record(z.string(), z.unknown()).default({}),
  }),
  kind('invalidClient').extend(TokenError),
  kind('invalidScope').extend(TokenError),
  kind('invalidGrant').extend(TokenError),
]);

const tokenOperations = operations.filter(isTokenOperation);

/** The operations that a fault can hit. A fault that is not listed can hit any. */
const hits: Partial<Record<string, readonly OperationName[]>> = {
  tokenAnswer: tokenOperations,
  invalidClient: tokenOperations,
  invalidScope: tokenOperations,
  invalidGrant: tokenOperations,
  subscriberAnswer: ['createSubscriber'],
};

const canHit = (kindOfFault: string, operation: OperationName): boolean =>
  hits[kindOfFault]?.includes(operation) ?? true;

/** A fault and the calls that it hits. If several match, the oldest one hits. */
export const FaultSchema = AnyFault.refine((fault) => !fault.operation || canHit(fault.kind, fault.operation), {
  path: ['operation'],
  error: ({ input }) => `this fault hits only ${hits[(input as z.output<typeof AnyFault>).kind]?.join(' and ')}`,
});
export type Fault = z.output<typeof FaultSchema>;
export type FaultInput = z.input<typeof FaultSchema>;

export type FaultBoard = ReturnType<typeof createFaultBoard>;

const matches = (fault: Fault, operation: OperationName, orderId: string | undefined): boolean =>
  (fault.operation ?? operation) === operation &&
  (fault.orderId ?? orderId) === orderId &&
  canHit(fault.kind, operation);

/** The faults in force. `random` gives 0 to 1. */
export function createFaultBoard(random: () => number) {
  const active = new Map<number, { fault: Fault; left: number }>();
  let lastId = 0;
  return {
    set(fault: Fault): number {
      lastId += 1;
      active.set(lastId, { fault, left: fault.times ?? Number.POSITIVE_INFINITY });
      return lastId;
    },
    clear: (id: number): boolean => active.delete(id),
    clearAll: (): void => active.clear(),
    /** Gives the fault that hits this call, if any, and counts the hit. */
    take(operation: OperationName, orderId: string | undefined): Fault | undefined {
      for (const [id, entry] of active) {
        if (!matches(entry.fault, operation, orderId)) continue;
        if (entry.fault.probability !== undefined && random() >= entry.fault.probability) continue;
        entry.left -= 1;
        if (entry.left <= 0) active.delete(id);
        return entry.fault;
      }
      return undefined;
    },
  };
}

/** A repeatable random source (mulberry32). */
export function seededRandom(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
