import { describe, expect, it } from 'vitest';
import {
  type AttemptEnd,
  afterAttempt,
  type BusinessOperation,
  type CallDoubt,
  type CallTrouble,
  noDoubt,
  type Sent,
} from '../../src/domain/call.js';
import { toAccountName } from '../../src/domain/keys.js';

describe('what follows an attempt of a changing call', () => {
  const trouble = (isFinal: boolean): CallTrouble => ({ type: 'Refused', message: 'said.', details: [], isFinal });
  const failed = (sent: Sent, isFinal = false): AttemptEnd => ({ kind: 'failed', sent, trouble: trouble(isFinal) });
  const noEffect: AttemptEnd = { kind: 'noEffect' };
  const doubt: CallDoubt = { ...noDoubt, sent: 'unknown' };
  const reads: CallDoubt = { ...doubt, isReadFirst: true };
  const refused: CallDoubt = { ...reads, refusal: trouble(true) };
  const again = (next: CallDoubt) => ({ act: 'tryAgain', doubt: next });
  const fails = (type: string) => ({ act: 'fail', failure: { type } });

  it.each<[string, BusinessOperation, CallDoubt, AttemptEnd, object]>([
    ['a refusal is final', 'cancelOrder', noDoubt, failed('yes', true), fails('Refused')],
    ['what was not sent is sent again', 'createOrder', noDoubt, failed('no'), again(noDoubt)],
    ['what can never be sent fails', 'createOrder', noDoubt, failed('no', true), fails('Refused')],
    ['a lost answer leaves a doubt', 'createOrder', noDoubt, failed('unknown'), again(doubt)],
    [
      'the doubt is final where no repeat is safe',
      'createOrder',
      noDoubt,
      failed('unknown', true),
      fails('OutcomeUnknown'),
    ],
    ['a doubt outlives a refusal', 'createOrder', doubt, failed('yes', true), fails('OutcomeUnknown')],
    ['a doubt outlives what was not sent', 'createOrder', doubt, failed('no'), again(doubt)],
    ['where the order shows the effect, it is read first', 'cancelOrder', noDoubt, failed('unknown'), again(reads)],
    ['it is read until it can be', 'cancelOrder', reads, failed('no'), again(reads)],
    [
      'an order that cannot be read leaves the doubt',
      'cancelOrder',
      reads,
      failed('yes', true),
      fails('OutcomeUnknown'),
    ],
    ['without the effect the call is sent again', 'cancelOrder', reads, noEffect, again(doubt)],
    ['a refusal after a doubt is looked into', 'cancelOrder', doubt, failed('yes', true), again(refused)],
    ['and is final when the order shows no effect', 'cancelOrder', refused, noEffect, fails('Refused')],
    ['codes are sent again', 'addReferenceCode', noDoubt, failed('unknown'), again(doubt)],
    [
      'a refusal that no order shows is in doubt',
      'addReferenceCode',
      doubt,
      failed('yes', true),
      fails('OutcomeUnknown'),
    ],
  ])('%s: %s', (_, operation, before, end, next) => {
    expect(afterAttempt({ operation, account: toAccountName('business') }, before, end)).toMatchObject(next);
  });

  it.each([
    ['no', 'Refused'],
    ['unknown', 'OutcomeUnknown'],
  ] as const)('when the time is over, what was sent (%s) decides: %s', (sent, type) => {
    const call = { operation: 'cancelOrder', account: toAccountName('business') } as const;
    expect(afterAttempt(call, noDoubt, failed(sent), true)).toMatchObject(fails(type));
  });
});
