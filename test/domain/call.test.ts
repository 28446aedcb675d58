import { describe, expect, it } from 'vitest';
import {
  type AttemptOutcome,
  afterAttempt,
  type BusinessOperation,
  type CallDoubt,
  type CallTrouble,
  noDoubt,
} from '../../src/domain/call.js';
import { toAccountName } from '../../src/domain/keys.js';

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

  const afterRefusal: CallDoubt = { ...doubt, refusal: final };
  const settledRefusal: CallDoubt = { ...cleared, refusal: final };
  const lastLost: AttemptOutcome = { ...lost, isLast: true };

  it.each<[string, BusinessOperation, CallDoubt, AttemptOutcome, CallDoubt, object | null]>([
    ['a refusal is final', 'cancelOrder', noDoubt, refused, cleared, final],
    ['a failure before any request leaves no doubt', 'cancelOrder', noDoubt, unsent, noDoubt, final],
    ['a read is never in doubt', 'orderDetails', noDoubt, lost, noDoubt, final],
    ['an unclear answer leaves a doubt', 'createOrder', noDoubt, lost, doubt, unknown],
    ['the doubt is final where no repeat can tell', 'createOrder', noDoubt, lastLost, doubt, { isFinal: true }],
    ['a doubt outlives a clear answer', 'createOrder', doubt, refused, doubt, unknown],
    ['an error that is not about the call stays that error', 'createOrder', noDoubt, odd, noDoubt, null],
    ['such an error hides no doubt', 'createOrder', doubt, odd, doubt, unknown],
    ['a refusal after a doubt is looked into', 'cancelOrder', cleared, refused, afterRefusal, later],
    ['a trouble that may pass is not looked into', 'cancelOrder', cleared, passing, cleared, { type: 'Refused' }],
    ['a refusal that no order shows is not looked into', 'addReferenceCode', cleared, refused, cleared, final],
    ['an order without the effect clears the doubt', 'cancelOrder', doubt, noEffect, cleared, later],
    ['and leaves an earlier refusal final', 'cancelOrder', afterRefusal, noEffect, settledRefusal, final],
  ])('%s: %s', (_, operation, before, outcome, left, said) => {
    const after = afterAttempt({ operation, account: toAccountName('business') }, before, outcome);
    expect(after.left).toEqual(left);
    expect(after.trouble).toEqual(said && expect.objectContaining(said));
  });
});
