import type { Attention } from './attention.js';
import { InvalidInput } from './errors.js';
import { readInput, shallow } from './input-fields.js';
import { AccountNameSchema, type OrderId, OrderIdSchema } from './keys.js';
import * as s from './schema.js';

/** What a call changes at the service, even if its answer is lost, and the fields that it requires besides account and key. */
interface OperationTerms {
  effect: 'none' | 'newOrder' | 'changedOrder' | 'newCodes';
  needs: readonly ('orderId' | 'referenceFieldId' | 'body')[];
}

/** The operations of the business interface that a caller may ask for by name (given). */
export const operationTerms = {
  companySettings: { effect: 'none', needs: [] },
  products: { effect: 'none', needs: ['body'] },
  createOrder: { effect: 'newOrder', needs: ['body'] },
  orderDetails: { effect: 'none', needs: ['orderId'] },
  updateOrder: { effect: 'changedOrder', needs: ['orderId', 'body'] },
  cancelOrder: { effect: 'changedOrder', needs: ['orderId'] },
  addReferenceCode: { effect: 'newCodes', needs: ['referenceFieldId', 'body'] },
  orderReceipt: { effect: 'none', needs: ['orderId'] },
} as const satisfies Record<string, OperationTerms>;

/** One of the operations of the business interface. */
export type BusinessOperation = keyof typeof operationTerms;

/** The names of the operations. */
export const businessOperations = Object.keys(operationTerms) as BusinessOperation[];

/** What messages about a call name. */
type CallName = Pick<BusinessCallInput, 'operation' | 'account'>;

/** One call for the activity `callService`. */
export interface ServiceCall extends Omit<BusinessCallInput, 'key'> {
  /** The same in every attempt. Sent in the header, if the profile names one, by which the service may know a repeat (assumed). */
  requestId: string;
  /** The run wants to know whether the worker has a store. */
  asksForStore?: true;
}

/** What a worker with a store adds to the result, and to the details of a failure, where it is asked. */
export const storeAnswer = Object.freeze({ stores: true });

/** Is this detail of a failure that answer? */
export const isStoreAnswer = (detail: unknown): boolean =>
  typeof detail === 'object' && detail !== null && 'stores' in detail;

/** Does a call of this operation change something at the service? */
export const isChanging = (operation: BusinessOperation): boolean => operationTerms[operation].effect !== 'none';

/** Does a read of the order show the effect? */
export const showsInOrder = (operation: BusinessOperation): boolean =>
  operationTerms[operation].effect === 'changedOrder';

/**
 * The failure types that a caller can switch on. The details of `Refused` are `{ status, code, message }` of the service.
 * `OutcomeUnknown`: the service may have carried out the call. `Unavailable`: it did not; it or a worker was missing.
 */
const callFailureTypes = [
  'InvalidInput',
  'OrderNotFound',
  'Forbidden',
  'Refused',
  'CredentialsRejected',
  'OutcomeUnknown',
  'Unavailable',
] as const;

/** One of `callFailureTypes`. */
export type CallFailureType = (typeof callFailureTypes)[number];

const isCallFailureType = (type: unknown): type is CallFailureType => callFailureTypes.some((known) => known === type);

/** How a call failed, for its caller. */
export interface CallFailure {
  type: CallFailureType;
  message: string;
  details: unknown[];
}

/** The failure of the activity `callService` as its caller gets it. Null stands for a timeout. */
export function toCallFailure(
  failure: { type?: unknown; message: string; details?: unknown[] | null | undefined } | null,
  { operation, account }: CallName,
): CallFailure {
  if (failure && isCallFailureType(failure.type)) {
    return { type: failure.type, message: failure.message, details: failure.details ?? [] };
  }
  // The activity reports an unclear outcome itself, unless a timeout ended it.
  if (failure) return { type: 'Unavailable', message: `${operation}: ${failure.message}`, details: [] };
  const noEnd = `${operation}: no worker of account ${account} brought it to its end in time`;
  return isChanging(operation)
    ? {
        type: 'OutcomeUnknown',
        message: `${noEnd}. Look at the service whether it was carried out before you ask for it again.`,
        details: [],
      }
    : { type: 'Unavailable', message: `${noEnd}. Check that such a worker runs, then try again.`, details: [] };
}

const minuteMs = 60_000;

/** The limit of all attempts. A repeated create is safe only while the service remembers its request id, for an unknown time. */
const effortMinutes: Record<OperationTerms['effect'], number> = {
  none: 5,
  newOrder: 10,
  changedOrder: 15,
  newCodes: 15,
};

/** How the activity `callService` is carried out, whoever starts it. Durations in milliseconds. */
export const callTerms = (operation: BusinessOperation) => ({
  // Above the deadline of an HTTP call (20 s) and the wait for a token (10 s). Only this timeout reveals a dead worker.
  startToCloseTimeout: 40_000,
  scheduleToCloseTimeout: effortMinutes[operationTerms[operation].effect] * minuteMs,
  retry: { initialInterval: 1_000, backoffCoefficient: 2, maximumInterval: 30_000 },
  priority: { priorityKey: 1 }, // a caller waits for it
});

/** The call in one line. */
export const callSummary = ({
  operation,
  orderId,
  referenceFieldId,
}: Pick<BusinessCallInput, 'operation' | 'orderId' | 'referenceFieldId'>): string =>
  [operation, orderId ?? referenceFieldId].filter((part) => part !== undefined).join(' of ');

/** The failure of one attempt of a call. */
export interface CallTrouble {
  type: CallFailureType;
  message: string;
  details: unknown[];
  /** Repeating the call cannot help. */
  isFinal: boolean;
  /** The requested wait; undefined leaves it to the retry policy. */
  afterMs?: number | undefined;
}

/** What one attempt of a call leaves for the next. */
export interface CallDoubt {
  /** The service may have carried out the call; no answer has said so. */
  inDoubt: boolean;
  /** An earlier attempt has sent the call. */
  hadDoubt: boolean;
  /** The refusal of a repeated call. It is final unless the order shows that an earlier attempt was carried out. */
  refusal: CallTrouble | null;
  /** When the first search for the order began, in milliseconds since the epoch. Absent before it. */
  searchedSince?: number;
}

/** Before the first attempt. */
export const noDoubt: CallDoubt = { inDoubt: false, hadDoubt: false, refusal: null };

/** During the request of a changing call, and after an attempt that broke off. */
export const withDoubt = (before: CallDoubt): CallDoubt => ({ ...before, inDoubt: true, hadDoubt: true });

/**
 * How an attempt without a result ended. `noEffect`: a read of the order does not show the call. `notFound`: no search has proven which
 * order the call made. `sent`: how the last request ended, null if there was none. `trouble`: null for an error that is not about the
 * call. `isLast`: no repeat can clear it up.
 */
export type AttemptOutcome =
  | { kind: 'noEffect' }
  | { kind: 'notFound'; why: string; at: number; afterMs?: number | undefined }
  | { kind: 'failed'; sent: 'clear' | 'unclear' | null; trouble: CallTrouble | null; isLast: boolean };

/** A trouble that a repeat may clear up. */
export const passingTrouble = ({ operation, account }: CallName, why: string): CallTrouble => ({
  type: 'Unavailable',
  message: `${operation} of account ${account}: ${why}`,
  details: [],
  isFinal: false,
  afterMs: 1_000,
});

/** What an attempt leaves for the next, and how it fails; null: with its own error. */
export function afterAttempt(
  call: CallName,
  before: CallDoubt,
  outcome: AttemptOutcome,
): { left: CallDoubt; trouble: CallTrouble | null } {
  if (outcome.kind === 'noEffect') {
    const trouble = before.refusal ?? passingTrouble(call, 'the order shows no effect of it as yet');
    return { left: { ...before, inDoubt: false }, trouble };
  }
  if (outcome.kind === 'notFound') return afterSearch(call, before, outcome);
  const isSent = outcome.sent !== null && isChanging(call.operation);
  const isUnclear = before.inDoubt || (isSent && outcome.sent === 'unclear');
  const left = { ...before, inDoubt: isUnclear, hadDoubt: before.hadDoubt || isSent };
  const trouble = outcome.trouble ?? (isUnclear ? passingTrouble(call, 'an attempt broke off') : null);
  if (trouble && isUnclear) return { left, trouble: toUnknown(trouble, outcome.isLast) };
  if (!trouble?.isFinal || !before.hadDoubt || !showsInOrder(call.operation)) return { left, trouble };
  // The service may refuse the repeat because the first attempt took effect.
  return {
    left: { ...withDoubt(left), refusal: trouble },
    trouble: passingTrouble(call, 'refused after an unclear attempt'),
  };
}

const searchForMs = 120_000;
const shortestSearchPauseMs = 1_000;
const longestSearchPauseMs = 20_000;

/** The order may still appear: the service may be working on the create, and its search may lag. Pauses double. */
function afterSearch(
  call: CallName,
  { searchedSince, ...before }: CallDoubt,
  { why, at, afterMs = 0 }: Extract<AttemptOutcome, { kind: 'notFound' }>,
): { left: CallDoubt; trouble: CallTrouble } {
  const since = searchedSince ?? at;
  const ownPauseMs = Math.min(Math.max(at - since, shortestSearchPauseMs), longestSearchPauseMs);
  const pauseMs = Math.max(ownPauseMs, afterMs);
  const isLast = at + pauseMs > since + searchForMs;
  const searched = isLast ? `Searched for its order for ${Math.round((at - since) / 1_000)} s: ${why}` : why;
  const trouble = { ...passingTrouble(call, searched), afterMs: pauseMs };
  return { left: { ...before, searchedSince: since }, trouble: toUnknown(trouble, isLast) };
}

/** The trouble of a call that the service may have carried out, in this attempt or an earlier one. */
const toUnknown = (trouble: CallTrouble, isFinal: boolean): CallTrouble => ({
  ...trouble,
  type: 'OutcomeUnknown',
  message: `${trouble.message.replace(/\.$/, '')}. Whether it was carried out is unknown. Look at the service whether it was carried out before you ask for it again.`,
  isFinal,
});

/** A call that has not ended by then shows attention. */
export const longCallMs = 60_000;

/** The attention of a call that takes long. `since` is an ISO instant. */
export const callWaits = ({ operation, account }: CallName, since: string): Attention => ({
  code: 'upstreamUnavailable',
  message: `${operation} has come to no end yet. Look at the service, the network, and whether a worker of account ${account} runs; its activity callService says what its last attempt met.`,
  since,
});

const needsOf = (operation: BusinessOperation): OperationTerms['needs'] => operationTerms[operation].needs;

/** Is the operation about one order, so that a 404 means an unknown order? */
export const isAboutOrder = (operation: BusinessOperation): boolean => needsOf(operation).includes('orderId');

const OperationSchema = s.wordOf(businessOperations);

/** A caller's own id of a call or a ride, which becomes a part of the workflow id. */
export const CallerKeySchema = s.matching(
  /^[A-Za-z0-9._~-]{1,100}$/,
  'must be 1 to 100 characters of A-Z, a-z, 0-9, ".", "_", "~" and "-"',
);
/** Reads a caller's own id of a call or a ride. Throws `InvalidInput`. */
export const toCallerKey = (value: unknown, field = 'key'): string => readInput(CallerKeySchema, value, field);

/** The account of an input for the business interface. */
export const BusinessAccountSchema = s.described(
  AccountNameSchema,
  'Name of a business account that the workers hold.',
);

/** Text, or an integer as in the company's settings (assumed). */
const ReferenceFieldSchema: s.Schema<string, string | number> = {
  read: (value, at) => s.nameText.read(Number.isSafeInteger(value) ? String(value) : value, at),
  json: { anyOf: [s.nameText.json, s.wholeNumber().json] },
};

/** The input of `businessCall`. The schema checks only the depth of `body`. */
export const BusinessCallInputSchema = s.inputOf({
  account: BusinessAccountSchema,
  operation: OperationSchema,
  key: s.described(CallerKeySchema, 'Your identity of this call: the same key never makes a second effect.'),
  orderId: s.optional(OrderIdSchema, 'For the operations about one order.'),
  referenceFieldId: s.optional(ReferenceFieldSchema, 'For addReferenceCode.'),
  body: s.optional(
    shallow(s.anything),
    'Sent to the service; fields that faretrail does not know are sent as they are.',
  ),
});
/** The parsed input of `businessCall`. */
export type BusinessCallInput = s.Read<typeof BusinessCallInputSchema>;

/** The result of `businessCall`. `body` identifies the driver only while payloads are encrypted. */
export const BusinessCallResultSchema = s.answerOf({
  operation: OperationSchema,
  status: s.described(s.wholeNumber(), 'The status of HTTP.'),
  body: s.described(s.anything, 'The parsed answer; null when there was none.'),
  orderId: s.absentOr(s.answered<OrderId>(), 'Of createOrder only.'),
});
/** The result of `businessCall`. */
export type BusinessCallResult = s.Read<typeof BusinessCallResultSchema>;

/** Reads the input of `businessCall`. Throws `InvalidInput` that names the field, also for a field that the operation does not use. */
export function parseBusinessCallInput(value: unknown): BusinessCallInput {
  const input = readInput(BusinessCallInputSchema, value);
  const { operation } = input;
  for (const field of ['orderId', 'referenceFieldId', 'body'] as const) {
    const isNeeded = needsOf(operation).includes(field);
    const isGiven = input[field] !== undefined;
    if (isNeeded && !isGiven) throw new InvalidInput(`${field}: ${operation} needs it`);
    if (!isNeeded && isGiven) throw new InvalidInput(`${field}: ${operation} has no use for it; leave it out`);
  }
  return input;
}
