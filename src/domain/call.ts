import type { Attention } from './attention.js';
import { InvalidInput } from './errors.js';
import { readInput } from './input-fields.js';
import { maxJsonDepth, measureJson, placeOfLongNumber, shownText } from './json.js';
import { AccountNameSchema, type OrderId, OrderIdSchema } from './keys.js';
import type { Quote } from './ride/quote.js';
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
  priceEstimate: { effect: 'none', needs: ['body'] },
  createOrder: { effect: 'newOrder', needs: ['body'] },
  orderDetails: { effect: 'none', needs: ['orderId'] },
  updateOrder: { effect: 'changedOrder', needs: ['orderId', 'body'] },
  cancelOrder: { effect: 'changedOrder', needs: ['orderId'] },
  addReferenceCode: { effect: 'newCodes', needs: ['referenceFieldId', 'body'] },
  orderReceipt: { effect: 'none', needs: ['orderId'] },
  /** Its body goes out as the query of a GET. */
  orderReport: { effect: 'none', needs: ['body'] },
} as const satisfies Record<string, OperationTerms>;

/** One of the operations of the business interface. */
export type BusinessOperation = keyof typeof operationTerms;

/** The names of the operations. */
export const businessOperations = Object.keys(operationTerms) as BusinessOperation[];

/** What messages about a call name. */
type CallName = Pick<BusinessCallInput, 'operation' | 'account'>;

/** One call, as it goes to the service. */
export interface ServiceCall extends Omit<BusinessCallInput, 'key'> {
  /** The same in every attempt. Sent in the header, if the profile names one, by which the service prevents a second order (published). */
  requestId: string;
  /** Of a create: each attempt asks for a price estimate and sends its quote. */
  withQuote?: true;
  /** Of a create whose body has a quote of the caller: the ISO instant at which it came, by Temporal's clock. */
  quoteGivenAt?: string;
}

/** Does a call of this operation change something at the service? */
export const isChanging = (operation: BusinessOperation): boolean => operationTerms[operation].effect !== 'none';

/** Does a read of the order show the effect? */
const showsInOrder = (operation: BusinessOperation): boolean => operationTerms[operation].effect === 'changedOrder';

/**
 * The failure types that a caller can switch on. The details of `Refused` are `{ status, code, message }` of the service.
 * `OutcomeUnknown`: the service may have carried out the call. `Unavailable`: it did not; it or a worker was missing.
 */
export type CallFailureType =
  | 'InvalidInput'
  | 'OrderNotFound'
  | 'Forbidden'
  | 'Refused'
  | 'CredentialsRejected'
  | 'OutcomeUnknown'
  | 'Unavailable';

/** How a call failed, for its caller. */
export interface CallFailure {
  type: CallFailureType;
  message: string;
  details: unknown[];
}

const minuteMs = 60_000;

/** The limit of all attempts. A repeated create is safe only while the service remembers its request id, for an unknown time. */
const effortMinutes: Record<OperationTerms['effect'], number> = {
  none: 5,
  newOrder: 10,
  changedOrder: 15,
  newCodes: 15,
};

/** How one attempt of a call is carried out. Durations in milliseconds. */
export const attemptTerms = {
  // Above the deadline of an HTTP call (20 s) and the wait for a token (10 s). Only this timeout reveals a dead worker.
  startToCloseTimeout: 40_000,
  priority: { priorityKey: 2 }, // a caller waits for it, and the call for its token
};

/** The same of a create that asks for its quote first: one more HTTP call. */
export const quotedAttemptTerms = { ...attemptTerms, startToCloseTimeout: 60_000 };

const firstPauseMs = 1_000;
const longestPauseMs = 30_000;

/** The limit of all attempts, in milliseconds. */
export const effortMs = (operation: BusinessOperation): number =>
  effortMinutes[operationTerms[operation].effect] * minuteMs;

/** Our own pause after this attempt, counted from 1. */
export const pauseAfterMs = (attempt: number): number => Math.min(firstPauseMs * 2 ** (attempt - 1), longestPauseMs);

/** The call in one line. */
export const callSummary = ({
  operation,
  orderId,
  referenceFieldId,
}: Pick<BusinessCallInput, 'operation' | 'orderId' | 'referenceFieldId'>): string =>
  [operation, orderId ?? referenceFieldId].filter((part) => part !== undefined).join(' of ');

/** The failure of one attempt of a call. */
export interface CallTrouble extends CallFailure {
  /** The next step for the caller, if no attempt can have been carried out. */
  advice?: string;
  /** An order that the answer to a create named although it was no success. */
  namedOrderId?: OrderId;
  /** Repeating the call cannot help. */
  isFinal: boolean;
  /** The service refused the quote of a create, so it placed no order. */
  isQuoteRefused?: boolean;
  /** The requested wait; undefined leaves it to the retry policy. */
  afterMs?: number | undefined;
}

/**
 * Doubt about a failed attempt. `no`: it had no effect, since it was not sent or the service refused it. `unknown`: the
 * service may have carried it out. `effectOf` reads it from the failure of a request; a person gets it as
 * `OutcomeUnknown`.
 */
export type Sent = 'no' | 'unknown';

/** What the attempts before the next one of a call have left. */
export interface SentBefore {
  /** `unknown`: one of them may have been carried out. */
  sent: Sent;
  /** The order is read first, to see whether it was. */
  isReadFirst: boolean;
  /** The refusal of a repeated call. It is final unless the order shows that an earlier attempt was carried out. */
  refusal: CallTrouble | null;
  /**
   * An earlier call for the same order may have taken effect, so a failure of this one does not prove that there is no
   * order.
   */
  isInDoubt?: boolean;
  /** The order that the answer to one of them named last. */
  namedOrderId?: OrderId;
  /** The service has refused a quote, and another one was asked for. */
  isQuoteRenewed?: boolean;
}

/** Before the first attempt. */
export const nothingSent: SentBefore = { sent: 'no', isReadFirst: false, refusal: null };

/** One attempt of a call, for the activity `attemptCall`. */
export interface CallAttempt extends ServiceCall, Pick<SentBefore, 'sent' | 'isReadFirst'> {
  /** Counted through the whole chain of runs, so that no two attempts of the call have the same one. */
  number: number;
  /** The id of the update by which a person asked for it; null: the run makes it by itself. */
  updateId: string | null;
  /** The quote of the attempt before, if that one may have been carried out. */
  quote?: Quote;
}

/** Does the attempt only read? Temporal repeats such an attempt, whereas the run itself repeats one that may change something. */
export const isOnlyRead = ({ operation, isReadFirst }: Pick<CallAttempt, 'operation' | 'isReadFirst'>): boolean =>
  isReadFirst || !isChanging(operation);

/** What an attempt says beside its end. */
export interface AttemptFacts {
  /** The worker has a store. */
  stores?: true;
  /** The quote that the create carried, or would have. */
  quote?: Quote;
}

/** How an attempt ended. `noEffect`: a read of the order does not show the call. */
export type AttemptEnd =
  | { kind: 'done'; result: BusinessCallResult }
  | { kind: 'noEffect' }
  | { kind: 'failed'; sent: Sent; trouble: CallTrouble };

/** A trouble that a repeat may clear up. */
export const passingTrouble = ({ operation, account }: CallName, why: string): CallTrouble => ({
  type: 'Unavailable',
  message: `${operation} of account ${account}: ${why}`,
  details: [],
  isFinal: false,
});

/** What follows an attempt: the end of the call, or another attempt. */
export type AfterAttempt =
  | { act: 'return'; result: BusinessCallResult }
  | { act: 'fail'; failure: CallFailure }
  | { act: 'tryAgain'; before: SentBefore };

/** The table of what follows an attempt of a call. `isOver`: the time of the whole effort is. */
export function afterAttempt(call: CallName, before: SentBefore, end: AttemptEnd, isOver = false): AfterAttempt {
  const named = ('trouble' in end ? end.trouble.namedOrderId : undefined) ?? before.namedOrderId;
  const known = named === undefined ? {} : { namedOrderId: named };
  const fail = (trouble: CallTrouble, sent: Sent): AfterAttempt => ({
    act: 'fail',
    failure: sent === 'unknown' || before.isInDoubt ? toOutcomeUnknown({ ...trouble, ...known }) : toFailure(trouble),
  });
  const tryAgain = (next: SentBefore, trouble: CallTrouble): AfterAttempt =>
    isOver ? fail(trouble, next.sent) : { act: 'tryAgain', before: next };
  if (end.kind === 'done') return { act: 'return', result: end.result };
  if (end.kind === 'noEffect') {
    if (before.refusal) return fail(before.refusal, 'no');
    return tryAgain({ ...before, isReadFirst: false }, passingTrouble(call, 'the order shows no effect of it as yet'));
  }
  const { trouble } = end;
  const sent = end.sent === 'unknown' || before.sent === 'unknown' ? 'unknown' : 'no';
  // The quote may have died on its way. Once: a service that refuses a fresh one refuses the next one, too.
  if (trouble.isQuoteRefused && end.sent === 'no' && !before.isQuoteRenewed)
    return tryAgain({ ...before, ...known, sent, isQuoteRenewed: true }, trouble);
  const isShown = showsInOrder(call.operation);
  if (!trouble.isFinal) {
    const isReadFirst = before.isReadFirst || (end.sent === 'unknown' && isShown);
    return tryAgain({ ...before, ...known, sent, isReadFirst }, trouble);
  }
  // The service may refuse the repeat because an earlier attempt took effect.
  if (sent === 'unknown' && isShown && !before.isReadFirst)
    return tryAgain(
      { ...before, sent, isReadFirst: true, refusal: trouble },
      passingTrouble(call, 'refused after a lost answer'),
    );
  return fail(trouble, sent);
}

const toFailure = ({ type, message, details, advice }: CallTrouble): CallFailure => ({
  type,
  message: advice === undefined ? message : `${message} ${advice}`,
  details,
});

/** The first of the details of `OutcomeUnknown`. */
export interface DoubtDetails {
  /** The last answer of the service, if there was one. */
  status?: number;
  code?: string | null;
  message?: string | null;
  /** The failure of the last attempt as a sentence, without advice. */
  reason?: string;
  /** The order that an answer named last. */
  namedOrderId?: OrderId;
}

/** The failure of a call that may have taken effect. It never advises another key, which could place a second order. */
function toOutcomeUnknown({ message, details, namedOrderId }: CallTrouble): CallFailure {
  const reason = `${message.replace(/\.$/, '')}.`;
  const named = namedOrderId === undefined ? {} : { namedOrderId };
  const shown = namedOrderId === undefined ? '' : ` The service named order ${shownText(namedOrderId)}.`;
  return {
    type: 'OutcomeUnknown',
    message: `${reason}${shown} The service may have carried it out: check with the service before you send it again.`,
    details: [{ ...(details[0] as object | undefined), reason, ...named } satisfies DoubtDetails],
  };
}

/**
 * Would a reset of the run make this failure doubtful? As far as the run knows, none of its own attempts took effect,
 * but an attempt before the reset may have.
 */
export const isDoubtfulAfterReset = ({ operation }: CallName, before: SentBefore, failure: CallFailure): boolean =>
  isChanging(operation) && before.sent === 'no' && failure.type !== 'OutcomeUnknown';

/** What a run that was reset does about such a failure. `isOver`: there is no time left for another attempt. */
export function afterReset(call: CallName, before: SentBefore, trouble: CallTrouble, isOver: boolean): AfterAttempt {
  if (showsInOrder(call.operation) && !isOver)
    return { act: 'tryAgain', before: { ...before, sent: 'unknown', isReadFirst: true, refusal: trouble } };
  const what = call.operation === 'createOrder' ? 'the order' : 'the change';
  const message = `${trouble.message.replace(/\.$/, '')}. The run was reset, and may have sent ${what} before.`;
  return { act: 'fail', failure: toOutcomeUnknown({ ...trouble, message }) };
}

/** A call that has not ended by then shows attention. */
export const longCallMs = 60_000;

/** The attention of a call that takes long. `since` is an ISO instant. */
export const callWaits = ({ operation, account }: CallName, since: string): Attention => ({
  code: 'upstreamUnavailable',
  message: `${operation} has been running for over a minute. Check the service, the network and that a worker for account ${account} is up; the last attempt shows the error.`,
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

/** In characters of its JSON: far more than an order with seven stops has, and Temporal keeps it for good. */
const maxBodyLength = 65_536;

/** The body of a call, with bounds of depth and length, and each number as its author wrote it. */
export function callBody<Out, In>(schema: s.Schema<Out, In>): s.Schema<Out, In> {
  const short = s.checked(
    schema,
    (body) => JSON.stringify(body).length <= maxBodyLength,
    `must have at most ${maxBodyLength} characters as JSON`,
  );
  const bounded = s.checked(
    short,
    (body) => measureJson(JSON.stringify(body)).depth <= maxJsonDepth,
    `nested deeper than ${maxJsonDepth} levels`,
  );
  const read = (value: unknown, at: string): Out => {
    const body = bounded.read(value, at);
    const place = placeOfLongNumber(body);
    if (place === undefined) return body;
    return s.refuse(
      shownText(`${at}${place}`.slice(0, 200)),
      'would lose digits as a number; write it as text in quotes',
    );
  };
  return { ...bounded, read };
}

/** The account of an input for the business interface. */
export const BusinessAccountSchema = s.described(
  AccountNameSchema,
  'Name of a business account that the workers hold.',
);

/** Text, or an integer as in the company's settings (assumed). */
const ReferenceFieldSchema: s.Schema<string, string | number> = {
  read: (value, at) => s.nameText.read(Number.isSafeInteger(value) ? String(value) : value, at),
  json: { anyOf: [s.nameText.json, { type: 'integer' }] },
};

/** The input of `businessCall`. The schema checks only depth and length of `body`. */
export const BusinessCallInputSchema = s.inputOf({
  account: BusinessAccountSchema,
  operation: OperationSchema,
  key: s.described(CallerKeySchema, 'Your identity of this call: the same key never makes a second effect.'),
  orderId: s.optional(OrderIdSchema, 'For the operations about one order.'),
  referenceFieldId: s.optional(ReferenceFieldSchema, 'For addReferenceCode.'),
  body: s.optional(
    callBody(s.anything),
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
