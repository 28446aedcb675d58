import type { Attention } from './attention.js';
import { InvalidInput } from './errors.js';
import { readInput, shallow } from './input-fields.js';
import { AccountNameSchema, type OrderId, OrderIdSchema } from './keys.js';
import * as s from './schema.js';

/** The operations of the business interface that a caller may ask for by name (given). */
export const businessOperations = [
  'companySettings',
  'products',
  'createOrder',
  'orderDetails',
  'updateOrder',
  'cancelOrder',
  'addReferenceCode',
  'orderReceipt',
] as const;

/** One of `businessOperations`. */
export type BusinessOperation = (typeof businessOperations)[number];

/** What messages about a call name. */
type CallName = Pick<BusinessCallInput, 'operation' | 'account'>;

/** One call for the activity `callService`. */
export interface ServiceCall extends Omit<BusinessCallInput, 'key'> {
  /** Stands in the header that keeps the service from doing this twice, where the profile names one. Fixed before the
   *  first attempt. */
  requestId: string;
}

/** What a call makes at the service, even when no answer comes. */
type CallEffect = 'none' | 'newOrder' | 'changedOrder' | 'newCodes';

/** The effect of each operation. */
export const effects: Record<BusinessOperation, CallEffect> = {
  companySettings: 'none',
  products: 'none',
  createOrder: 'newOrder',
  orderDetails: 'none',
  updateOrder: 'changedOrder',
  cancelOrder: 'changedOrder',
  addReferenceCode: 'newCodes',
  orderReceipt: 'none',
};

/** Does a call of it change something at the service? */
export const isChanging = (operation: BusinessOperation): boolean => effects[operation] !== 'none';

/** Can the effect be read in the order? */
export const showsInOrder = (operation: BusinessOperation): boolean => effects[operation] === 'changedOrder';

/**
 * Types of the failures that a caller can switch on. `Refused` has `{ status, code, message }` of the service as details.
 * `OutcomeUnknown`: it may have been carried out; `Unavailable`: it was not, for want of an answer or of a worker.
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

/** Is this the type of a failure that callers know? */
export const isCallFailureType = (type: unknown): type is CallFailureType =>
  callFailureTypes.some((known) => known === type);

/** The failure of one attempt of a call. */
export interface CallTrouble {
  type: CallFailureType;
  message: string;
  details: unknown[];
  /** Repeating the call cannot help. */
  isFinal: boolean;
  /** The wait that was asked for; undefined leaves it to the retry policy. */
  afterMs?: number | undefined;
}

/** What one attempt of a call leaves for the next. */
export interface CallDoubt {
  /** The call may have been carried out, and no answer has told yet. */
  inDoubt: boolean;
  /** An earlier attempt has sent it. */
  hadDoubt: boolean;
  /** How the service refused it after a doubt; it stands unless the order shows that the call was carried out before. */
  refusal: CallTrouble | null;
}

/** Before the first attempt. */
export const noDoubt: CallDoubt = { inDoubt: false, hadDoubt: false, refusal: null };

/** While a request of a changing call is under way, and after an attempt that was cut off. */
export const withDoubt = (before: CallDoubt): CallDoubt => ({ ...before, inDoubt: true, hadDoubt: true });

/**
 * How an attempt without a result ended. `noEffect`: the order was read and does not show the call. `sent`: how the last request
 * ended, null when none was sent. `trouble`: null for an error that is not about the call. `isLast`: no repeat can tell more.
 */
export type AttemptOutcome =
  | { kind: 'noEffect' }
  | { kind: 'failed'; sent: 'clear' | 'unclear' | null; trouble: CallTrouble | null; isLast: boolean };

/** A trouble that a repeat may end. */
export const passingTrouble = ({ operation, account }: CallName, why: string): CallTrouble => ({
  type: 'Unavailable',
  message: `${operation} of account ${account}: ${why}`,
  details: [],
  isFinal: false,
  afterMs: 1_000,
});

/** What an attempt leaves for the next, and how it fails; null: with the error that it met. */
export function afterAttempt(
  call: CallName,
  before: CallDoubt,
  outcome: AttemptOutcome,
): { left: CallDoubt; trouble: CallTrouble | null } {
  if (outcome.kind === 'noEffect') {
    const trouble = before.refusal ?? passingTrouble(call, 'the order shows no effect of it as yet');
    return { left: { ...before, inDoubt: false }, trouble };
  }
  const isSent = outcome.sent !== null && isChanging(call.operation);
  const isUnclear = before.inDoubt || (isSent && outcome.sent === 'unclear');
  const left = { ...before, inDoubt: isUnclear, hadDoubt: before.hadDoubt || isSent };
  const trouble = outcome.trouble ?? (isUnclear ? passingTrouble(call, 'an attempt broke off') : null);
  if (trouble && isUnclear) return { left, trouble: toUnknown(trouble, outcome.isLast) };
  if (!trouble?.isFinal || !before.hadDoubt || !showsInOrder(call.operation)) return { left, trouble };
  // The refusal may come from the effect that the call had the first time.
  return {
    left: { ...withDoubt(left), refusal: trouble },
    trouble: passingTrouble(call, 'refused after an unclear attempt'),
  };
}

/** The same trouble when the call may have been carried out, in this attempt or before. */
const toUnknown = (trouble: CallTrouble, isFinal: boolean): CallTrouble => ({
  ...trouble,
  type: 'OutcomeUnknown',
  message: `${trouble.message.replace(/\.$/, '')}. Whether it was carried out is unknown. Look at the service whether it was carried out before you ask for it again.`,
  isFinal,
});

/** Shown of a call that has come to no end for long. `since` is an ISO instant. */
export const callWaits = ({ operation, account }: CallName, since: string): Attention => ({
  code: 'upstreamUnavailable',
  message: `${operation} has come to no end yet. Look at the service, the network, and whether a worker of account ${account} runs; the pending activity of this run says what its last attempt met.`,
  since,
});

/** What each operation needs besides account and key; it takes nothing else of these. */
const needs: Record<BusinessOperation, readonly ('orderId' | 'referenceFieldId' | 'body')[]> = {
  companySettings: [],
  products: ['body'],
  createOrder: ['body'],
  orderDetails: ['orderId'],
  updateOrder: ['orderId', 'body'],
  cancelOrder: ['orderId'],
  addReferenceCode: ['referenceFieldId', 'body'],
  orderReceipt: ['orderId'],
};

/** Is it about one order, so that a 404 means that the service does not know that order? */
export const isAboutOrder = (operation: BusinessOperation): boolean => needs[operation].includes('orderId');

const OperationSchema = s.wordOf(businessOperations);
/** Reads the name of an operation. Throws `InvalidInput` naming `field`. */
export const toBusinessOperation = (value: unknown, field = 'operation'): BusinessOperation =>
  readInput(OperationSchema, value, field);

/** A caller's own identity of a call or a ride: it becomes a part of the workflow id. */
export const CallerKeySchema = s.matching(
  /^[A-Za-z0-9._~-]{1,100}$/,
  'must be 1 to 100 characters of A-Z, a-z, 0-9, ".", "_", "~" and "-"',
);
/** Reads a caller's own identity of a call or a ride. Throws `InvalidInput`. */
export const toCallerKey = (value: unknown, field = 'key'): string => readInput(CallerKeySchema, value, field);

/** The account of an input that only the business interface serves. */
export const BusinessAccountSchema = s.described(
  AccountNameSchema,
  'Name of a business account that the workers hold.',
);

/** The company's settings give it as an integer (assumed). */
const ReferenceFieldSchema: s.Schema<string, string | number> = {
  read: (value, at) => s.nameText.read(Number.isSafeInteger(value) ? String(value) : value, at),
  json: { anyOf: [s.nameText.json, s.wholeNumber().json] },
};

/** What `businessCall` is started with. Of `body` only the depth is looked at here. */
export const BusinessCallInputSchema = s.inputOf({
  account: BusinessAccountSchema,
  operation: OperationSchema,
  key: s.described(CallerKeySchema, 'Your identity of this call: the same key never makes a second effect.'),
  orderId: s.optional(OrderIdSchema, 'For the operations about one order.'),
  referenceFieldId: s.optional(ReferenceFieldSchema, 'For addReferenceCode.'),
  body: s.optional(shallow(s.anything), 'Sent to the service; fields nobody here knows are sent as they are.'),
});
/** What `businessCall` is started with, as it is read. */
export type BusinessCallInput = s.Read<typeof BusinessCallInputSchema>;

/** What `businessCall` answers. Who the driver is stands in `body` only while payloads are encrypted. */
export const BusinessCallResultSchema = s.answerOf({
  operation: OperationSchema,
  status: s.described(s.wholeNumber(), 'The status of HTTP.'),
  body: s.described(s.anything, 'The parsed answer; null when there was none.'),
  orderId: s.absentOr(s.answered<OrderId>(), 'Of createOrder only.'),
});
/** What `businessCall` answers. */
export type BusinessCallResult = s.Read<typeof BusinessCallResultSchema>;

/**
 * Reads the input of `businessCall`, which any language may send. Throws `InvalidInput` that names the field; unknown
 * fields are refused, and those that the operation has no use for.
 */
export function parseBusinessCallInput(value: unknown): BusinessCallInput {
  const input = readInput(BusinessCallInputSchema, value);
  const { operation } = input;
  for (const field of ['orderId', 'referenceFieldId', 'body'] as const) {
    const isNeeded = needs[operation].includes(field);
    const isGiven = input[field] !== undefined;
    if (isNeeded && !isGiven) throw new InvalidInput(`${field}: ${operation} needs it`);
    if (!isNeeded && isGiven) throw new InvalidInput(`${field}: ${operation} has no use for it; leave it out`);
  }
  return input;
}
