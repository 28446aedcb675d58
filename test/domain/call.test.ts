import { describe, expect, it } from 'vitest';
import {
  type AttemptOutcome,
  afterAttempt,
  type BusinessOperation,
  businessOperations,
  type CallDoubt,
  type CallTrouble,
  noDoubt,
  parseBusinessCallInput,
} from '../../src/domain/call.js';
import { toAccountName } from '../../src/domain/keys.js';

const shared = { account: 'business', key: 'trip-9' };
const complete = {
  companySettings: {},
  products: { body: {} },
  createOrder: { body: {} },
  orderDetails: { orderId: '1' },
  updateOrder: { orderId: '1', body: {} },
  cancelOrder: { orderId: '1' },
  addReferenceCode: { referenceFieldId: '7', body: [] },
  orderReceipt: { orderId: '1' },
} as const;

describe('the input of a business call', () => {
  it.each(businessOperations)('of %s is read as it is', (operation) => {
    const input = { ...shared, operation, ...complete[operation] };
    expect(parseBusinessCallInput(input)).toEqual(input);
  });

  it('may say null for what is not set, and numbers for ids', () => {
    const input = { ...shared, operation: 'orderDetails', orderId: 42, body: null, referenceFieldId: null };
    expect(parseBusinessCallInput(input)).toEqual({ ...shared, operation: 'orderDetails', orderId: '42' });
    const codes = { ...shared, operation: 'addReferenceCode', referenceFieldId: 7, body: [] };
    expect(parseBusinessCallInput(codes)).toMatchObject({ referenceFieldId: '7' });
  });

  it.each<[object, string]>([
    [{ operation: 'bookRide' }, 'operation: must be one of'],
    [{ operation: 'toString' }, 'operation: must be one of'],
    [{ operation: 'createOrder' }, 'body: createOrder needs it'],
    [{ operation: 'createOrder', body: {}, orderId: '1' }, 'orderId: createOrder has no use for it'],
    [{ operation: 'cancelOrder' }, 'orderId: cancelOrder needs it'],
    [{ operation: 'cancelOrder', orderId: 'a/b' }, 'orderId: must not hold'],
    [{ operation: 'addReferenceCode', body: [] }, 'referenceFieldId: addReferenceCode needs it'],
    [{ operation: 'companySettings', key: 'a/b' }, 'key: must be 1 to 100'],
    [{ operation: 'companySettings', key: undefined }, 'key: must be 1 to 100'],
    [{ operation: 'companySettings', account: 'A' }, 'account: must be'],
    [{ operation: 'companySettings', colour: 'red' }, 'unknown field "colour"'],
  ])('%j is refused: %s', (more, words) => {
    expect(() => parseBusinessCallInput({ ...shared, ...more })).toThrow(words);
  });
});

describe('what an attempt without a result leaves for the next', () => {
  const trouble = (isFinal: boolean): CallTrouble => ({ type: 'Refused', message: 'said.', details: [], isFinal });
  const final = trouble(true);
  const doubt: CallDoubt = { inDoubt: true, hadDoubt: true, refusal: null };
  const cleared: CallDoubt = { ...doubt, inDoubt: false };
  const refused: AttemptOutcome = { kind: 'failed', sent: 'clear', trouble: final, isLast: false };
  const lost: AttemptOutcome = { ...refused, sent: 'unclear' };
  const unsent: AttemptOutcome = { ...refused, sent: null };
  const odd: AttemptOutcome = { ...unsent, trouble: null };
  const passing: AttemptOutcome = { ...refused, trouble: trouble(false) };
  const noEffect: AttemptOutcome = { kind: 'noEffect' };
  const unknown = { type: 'OutcomeUnknown', isFinal: false };
  const later = { type: 'Unavailable', isFinal: false };

  it.each<[string, BusinessOperation, CallDoubt, AttemptOutcome, CallDoubt, object | null]>([
    ['a refusal stands', 'cancelOrder', noDoubt, refused, cleared, final],
    ['nothing was sent', 'cancelOrder', noDoubt, unsent, noDoubt, final],
    ['a read is never in doubt', 'orderDetails', noDoubt, lost, noDoubt, final],
    ['an unclear answer', 'createOrder', noDoubt, lost, doubt, unknown],
    ['the same where no repeat can tell', 'createOrder', noDoubt, { ...lost, isLast: true }, doubt, { isFinal: true }],
    ['a doubt outlives a clear answer', 'createOrder', doubt, refused, doubt, unknown],
    ['an error that is not about the call', 'createOrder', noDoubt, odd, noDoubt, null],
    ['the same in doubt', 'createOrder', doubt, odd, doubt, unknown],
    ['a refusal after a doubt is looked into', 'cancelOrder', cleared, refused, { ...doubt, refusal: final }, later],
    ['a trouble that may pass after a doubt is not', 'cancelOrder', cleared, passing, cleared, { type: 'Refused' }],
    ['nor is a refusal that no order shows', 'addReferenceCode', cleared, refused, cleared, final],
    ['the order shows no effect', 'cancelOrder', doubt, noEffect, cleared, later],
    [
      'and the refusal before stands',
      'cancelOrder',
      { ...doubt, refusal: final },
      noEffect,
      { ...cleared, refusal: final },
      final,
    ],
  ])('%s: %s', (_, operation, before, outcome, left, said) => {
    const after = afterAttempt({ operation, account: toAccountName('business') }, before, outcome);
    expect(after.left).toEqual(left);
    expect(after.trouble).toEqual(said && expect.objectContaining(said));
  });
});
