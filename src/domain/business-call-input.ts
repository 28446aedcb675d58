import { type BusinessCallInput, type BusinessOperation, businessOperations } from './business-call.js';
import { InvalidInput } from './errors.js';
import { checkDepth, toInputFields, toInputName } from './input-fields.js';
import { toAccountName, toOrderId } from './keys.js';

const known = ['account', 'operation', 'key', 'orderId', 'referenceFieldId', 'body'] as const;

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

/** Reads the name of an operation. Throws `InvalidInput` naming `field`. */
export function toBusinessOperation(value: unknown, field = 'operation'): BusinessOperation {
  const operation = businessOperations.find((name) => name === value);
  if (operation === undefined) throw new InvalidInput(`${field}: must be one of ${businessOperations.join(', ')}`);
  return operation;
}

/** Reads a caller's own identity of a call or a ride. It becomes a part of workflow ids. Throws `InvalidInput`. */
export function toCallerKey(value: unknown, field = 'key'): string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9._~-]{1,100}$/.test(value)) {
    throw new InvalidInput(`${field}: must be 1 to 100 characters of A-Z, a-z, 0-9, ".", "_", "~" and "-"`);
  }
  return value;
}

/**
 * Reads the input of `businessCall`, which any language may send. Throws `InvalidInput` that names the field; unknown
 * fields are refused, and those that the operation has no use for. Of `body` only the depth is looked at here.
 */
export function parseBusinessCallInput(value: unknown): BusinessCallInput {
  const fields = toInputFields(value, known);
  const operation = toBusinessOperation(fields.operation);
  const isGiven = (field: (typeof known)[number]): boolean => fields[field] !== undefined && fields[field] !== null;
  for (const field of ['orderId', 'referenceFieldId', 'body'] as const) {
    const isNeeded = needs[operation].includes(field);
    if (isNeeded && !isGiven(field)) throw new InvalidInput(`${field}: ${operation} needs it`);
    if (!isNeeded && isGiven(field)) throw new InvalidInput(`${field}: ${operation} has no use for it; leave it out`);
  }
  if (isGiven('body')) checkDepth(JSON.stringify(fields.body), 'body');
  return {
    account: toAccountName(fields.account),
    operation,
    key: toCallerKey(fields.key),
    ...(isGiven('orderId') ? { orderId: toOrderId(fields.orderId) } : {}),
    ...(isGiven('referenceFieldId') ? { referenceFieldId: toReferenceFieldId(fields.referenceFieldId) } : {}),
    ...(isGiven('body') ? { body: fields.body } : {}),
  };
}

/** The company's settings give it as an integer (assumed, upstream section 5.3). */
const toReferenceFieldId = (value: unknown): string =>
  toInputName(Number.isSafeInteger(value) ? String(value) : value, 'referenceFieldId');
