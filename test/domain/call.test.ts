import { describe, expect, it } from 'vitest';
import {
  type AfterAttempt,
  type AttemptEnd,
  afterAttempt,
  afterReset,
  attemptTerms,
  type BusinessOperation,
  businessOperations,
  type CallFailure,
  type CallTrouble,
  callSummary,
  callWaits,
  effortMs,
  isAboutOrder,
  isChanging,
  isDoubtfulAfterReset,
  nothingSent,
  passingTrouble,
  pauseAfterMs,
  type SentBefore,
  toCallerKey,
} from '../../src/domain/call.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';

const account = toAccountName('business');
const minute = 60_000;

it.each<[BusinessOperation, minutes: number, isChange: boolean, isOfOrder: boolean]>([
  ['companySettings', 5, false, false],
  ['products', 5, false, false],
  ['priceEstimate', 5, false, false],
  ['createOrder', 10, true, false],
  ['orderDetails', 5, false, true],
  ['updateOrder', 15, true, true],
  ['cancelOrder', 15, true, true],
  ['addReferenceCode', 15, true, false],
  ['orderReceipt', 5, false, true],
  ['orderReport', 5, false, false],
])('%s is tried for %d minutes; it changes something: %s; it is about an order: %s', (operation, minutes, ...is) => {
  expect(businessOperations).toContain(operation);
  expect(effortMs(operation)).toBe(minutes * minute);
  expect([isChanging(operation), isAboutOrder(operation)]).toEqual(is);
});

it('the pause after an attempt doubles from a second to half a minute', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 1_000].map(pauseAfterMs)).toEqual([1, 2, 4, 8, 16, 30, 30, 30].map((s) => s * 1_000));
});

it('an attempt outlasts the wait for a token and the call itself, and goes before reads', () => {
  expect(attemptTerms.startToCloseTimeout).toBeGreaterThan(30_000);
  expect(attemptTerms.priority.priorityKey).toBeLessThan(3); // the default of Temporal
});

it('a call is shown by its operation and what it is about, and one that takes long by what to look at', () => {
  expect(callSummary({ operation: 'companySettings' })).toBe('companySettings');
  expect(callSummary({ operation: 'cancelOrder', orderId: toOrderId('4711') })).toBe('cancelOrder of 4711');
  expect(callSummary({ operation: 'addReferenceCode', referenceFieldId: '7' })).toBe('addReferenceCode of 7');
  const since = '2031-05-01T10:00:00.000Z';
  const { message, ...rest } = callWaits({ operation: 'products', account }, since);
  expect(rest).toEqual({ code: 'upstreamUnavailable', since });
  expect(message).toMatch(/^products has been running for over a minute\. .* account business is up/);
});

it("a caller's own id is refused under the name of its field", () => {
  expect(toCallerKey('trip-9')).toBe('trip-9');
  for (const key of ['', 'a/b', '-/', 'a b', 'x'.repeat(101)]) expect(() => toCallerKey(key)).toThrow(/^key: must be/);
  expect(() => toCallerKey(7, 'requestId')).toThrow(/^requestId: must be/);
});

describe('after an attempt', () => {
  const result = { operation: 'cancelOrder', status: 204, body: null } as const;
  const refused: CallTrouble = { type: 'Refused', message: 'No. Too late.', details: [{ status: 422 }], isFinal: true };
  const down: CallTrouble = { type: 'Unavailable', message: 'down', details: [], isFinal: false, afterMs: 5 };
  const failed = (trouble: CallTrouble, sent: 'no' | 'unknown'): AttemptEnd => {
    return { kind: 'failed', trouble, sent };
  };
  const again = (before: Partial<SentBefore>): AfterAttempt => {
    return { act: 'tryAgain', before: { ...nothingSent, ...before } };
  };
  const fails = ({ type, message, details }: CallTrouble): AfterAttempt => ({
    act: 'fail',
    failure: { type, message, details },
  });
  const unknown = (message: string, { details } = refused): AfterAttempt => {
    const reason = `${message}.`;
    const text = `${reason} The service may have carried it out: check with the service before you send it again.`;
    return {
      act: 'fail',
      failure: { type: 'OutcomeUnknown', message: text, details: [{ ...(details[0] as object), reason }] },
    };
  };
  const lost = { sent: 'unknown' } as const;
  const lostAndRead = { sent: 'unknown', isReadFirst: true } as const;
  const noEffect = { kind: 'noEffect' } as const;
  const unseen = passingTrouble({ operation: 'cancelOrder', account }, 'the order shows no effect of it as yet');

  it.each<[string, BusinessOperation, Partial<SentBefore>, AttemptEnd, AfterAttempt, isOver?: boolean]>([
    ['with a result it is done', 'cancelOrder', lost, { kind: 'done', result }, { act: 'return', result }],
    ['that did not get through comes another', 'createOrder', {}, failed(down, 'no'), again({})],
    ['with an error of the service comes another', 'createOrder', {}, failed(down, 'no'), again({})],
    ['without answer, a create is not read', 'createOrder', {}, failed(down, 'unknown'), again(lost)],
    ['without answer, codes are not read', 'addReferenceCode', {}, failed(down, 'unknown'), again(lost)],
    ['without answer, a change is read first', 'updateOrder', {}, failed(down, 'unknown'), again(lostAndRead)],
    ['that failed later, no answer is forgotten', 'createOrder', lost, failed(down, 'no'), again(lost)],
    ['that could not read, the read is still due', 'cancelOrder', lostAndRead, failed(down, 'no'), again(lostAndRead)],
    ['that was refused it fails', 'createOrder', {}, failed(refused, 'no'), fails(refused)],
    ['that was refused unsent it fails', 'cancelOrder', {}, failed(refused, 'no'), fails(refused)],
    ['refused after a lost answer, it is unknown', 'createOrder', lost, failed(refused, 'no'), unknown('No. Too late')],
    ['that ended for good without answer, too', 'createOrder', {}, failed(refused, 'unknown'), unknown('No. Too late')],
    [
      'refused after a lost answer, a change is read, and the refusal kept',
      'cancelOrder',
      lost,
      failed(refused, 'no'),
      again({ ...lostAndRead, refusal: refused }),
    ],
    [
      'refused while it was to be read, it is unknown',
      'cancelOrder',
      lostAndRead,
      failed(refused, 'no'),
      unknown('No. Too late'),
    ],
    ['whose read shows nothing, it is sent', 'cancelOrder', lostAndRead, noEffect, again(lost)],
    [
      'whose read shows nothing, the refusal holds',
      'cancelOrder',
      { ...lost, refusal: refused },
      noEffect,
      fails(refused),
    ],
    ['when the time is over it fails', 'createOrder', {}, failed(down, 'no'), fails(down), true],
    [
      'when it is over without answer, unknown',
      'createOrder',
      {},
      failed(down, 'unknown'),
      unknown('down', down),
      true,
    ],
    ['when it is over and nothing was sent, fails', 'cancelOrder', {}, noEffect, fails(unseen), true],
    [
      'when it is over, a refusal after a lost answer is unknown',
      'cancelOrder',
      lost,
      failed(refused, 'no'),
      unknown('cancelOrder of account business: refused after a lost answer', down),
      true,
    ],
  ])('%s', (_, operation, before, end, expected, isOver) => {
    expect(afterAttempt({ operation, account }, { ...nothingSent, ...before }, end, isOver)).toEqual(expected);
  });

  it.each<[string, boolean, BusinessOperation, Partial<SentBefore>, CallFailure['type']]>([
    ['a refused create', true, 'createOrder', {}, 'Refused'],
    ['a refused change', true, 'cancelOrder', {}, 'Refused'],
    ['a change of an order that is not found', true, 'updateOrder', {}, 'OrderNotFound'],
    ['codes that could not be sent', true, 'addReferenceCode', {}, 'Unavailable'],
    ['a read', false, 'orderDetails', {}, 'Refused'],
    ['what is unknown already', false, 'cancelOrder', {}, 'OutcomeUnknown'],
    ['a change that was read', false, 'cancelOrder', lostAndRead, 'Refused'],
  ])('after a reset, the failure of %s is doubtful: %s', (_, isDoubtful, operation, before, type) => {
    const failure = { type, message: 'no', details: [] };
    expect(isDoubtfulAfterReset({ operation, account }, { ...nothingSent, ...before }, failure)).toBe(isDoubtful);
  });

  it.each<[string, BusinessOperation, AfterAttempt, isOver?: boolean]>([
    ['a change is read', 'cancelOrder', again({ ...lostAndRead, refusal: refused })],
    [
      'a change is unknown when the time is over',
      'cancelOrder',
      unknown('No. Too late. The run was reset, and may have sent the change before'),
      true,
    ],
    [
      'a create is unknown',
      'createOrder',
      unknown('No. Too late. The run was reset, and may have sent the order before'),
    ],
    [
      'codes are unknown',
      'addReferenceCode',
      unknown('No. Too late. The run was reset, and may have sent the change before'),
    ],
  ])('that failed in a run that was reset, %s', (_, operation, expected, isOver = false) => {
    expect(afterReset({ operation, account }, nothingSent, refused, isOver)).toEqual(expected);
  });

  it('that may be repeated, the failure names operation and account', () => {
    expect(unseen).toEqual({
      ...{ type: 'Unavailable', details: [], isFinal: false },
      message: 'cancelOrder of account business: the order shows no effect of it as yet',
    });
  });
});
