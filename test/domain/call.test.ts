import { describe, expect, it } from 'vitest';
import {
  type AttemptEnd,
  afterAttempt,
  type BusinessOperation,
  type CallTrouble,
  nothingSent,
  type Sent,
  type SentBefore,
} from '../../src/domain/call.js';
import { toAccountName } from '../../src/domain/keys.js';

describe('what follows an attempt of a changing call', () => {
  const trouble = (isFinal: boolean): CallTrouble => ({ type: 'Refused', message: 'said.', details: [], isFinal });
  const failed = (sent: Sent, isFinal = false): AttemptEnd => ({ kind: 'failed', sent, trouble: trouble(isFinal) });
  const noEffect: AttemptEnd = { kind: 'noEffect' };
  const unknown: SentBefore = { ...nothingSent, sent: 'unknown' };
  const reads: SentBefore = { ...unknown, isReadFirst: true };
  const refused: SentBefore = { ...reads, refusal: trouble(true) };
  const again = (next: SentBefore) => ({ act: 'tryAgain', before: next });
  const fails = (type: string) => ({ act: 'fail', failure: { type } });

  it.each<[string, BusinessOperation, SentBefore, AttemptEnd, object]>([
    ['a refusal is final', 'cancelOrder', nothingSent, failed('yes', true), fails('Refused')],
    ['what was not sent is sent again', 'createOrder', nothingSent, failed('no'), again(nothingSent)],
    ['what can never be sent fails', 'createOrder', nothingSent, failed('no', true), fails('Refused')],
    ['after a lost answer the outcome is unknown', 'createOrder', nothingSent, failed('unknown'), again(unknown)],
    [
      'that is final where no repeat is safe',
      'createOrder',
      nothingSent,
      failed('unknown', true),
      fails('OutcomeUnknown'),
    ],
    ['it stays so after a refusal', 'createOrder', unknown, failed('yes', true), fails('OutcomeUnknown')],
    ['it stays so after what was not sent', 'createOrder', unknown, failed('no'), again(unknown)],
    ['where the order shows the effect, it is read first', 'cancelOrder', nothingSent, failed('unknown'), again(reads)],
    ['it is read until it can be', 'cancelOrder', reads, failed('no'), again(reads)],
    [
      'an order that cannot be read leaves it unknown',
      'cancelOrder',
      reads,
      failed('yes', true),
      fails('OutcomeUnknown'),
    ],
    ['without the effect the call is sent again', 'cancelOrder', reads, noEffect, again(unknown)],
    ['a refusal after a lost answer is looked into', 'cancelOrder', unknown, failed('yes', true), again(refused)],
    ['and is final when the order shows no effect', 'cancelOrder', refused, noEffect, fails('Refused')],
    ['codes are sent again', 'addReferenceCode', nothingSent, failed('unknown'), again(unknown)],
    [
      'a refusal that no order shows leaves it unknown',
      'addReferenceCode',
      unknown,
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
    expect(afterAttempt(call, nothingSent, failed(sent), true)).toMatchObject(fails(type));
  });
});
