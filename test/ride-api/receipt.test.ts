import { describe, expect, it } from 'vitest';
import { defaultContractProfile as profile } from '../../src/contracts/default-contract-profile.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toOrderId } from '../../src/domain/keys.js';
import { RideApiError, RideApiGarbled } from '../../src/ride-api/errors.js';
import type { ApiReply } from '../../src/ride-api/http.js';
import { interpretReceiptReply, receiptRequest, receiptScope } from '../../src/ride-api/order.js';
import { businessAccount, partnerAccount } from './accounts.js';

const orderId = toOrderId('a?b');
const context = { account: businessAccount(), orderId, accessToken: 't0ken', profile, now: 0, maxWaitMs: 600_000 };
const reply = (status: number, body?: unknown): ApiReply => ({ status, headers: {}, body });
const interpret = (status: number, body?: unknown) => interpretReceiptReply(reply(status, body), context);

describe('the request for a receipt', () => {
  it('is made with the scope finance (given), at the path of the profile (assumed)', () => {
    expect(receiptScope(profile)).toBe('finance');
    expect(receiptRequest(businessAccount(), orderId, 't0ken', profile)).toEqual({
      method: 'GET',
      url: 'https://business.example/v1/orders/a%3Fb/receipt?businessId=11111111-2222-4333-8444-555555555555',
      headers: { Accept: 'application/json', Authorization: 'Bearer t0ken', 'Content-Type': 'application/json' },
    });
  });

  it('cannot be made at the partner interface', () => {
    expect(() => receiptRequest(partnerAccount(), orderId, 't', profile)).toThrow(InvalidInput);
  });
});

describe('the answer', () => {
  it('is kept as it came: amounts as numbers or text, and fields that nobody knows', () => {
    const receipt = { payment_summary: { total_inc_tax: '22.00', total_tax: 2 }, calculation: {}, unknown: [1] };
    expect(interpret(200, receipt)).toEqual(receipt);
  });

  it.each([undefined, null, [], 'paid', 7, { filler: 'x'.repeat(70_000) }])(
    'that is no receipt is unreadable: %#',
    (body) => {
      expect(() => interpret(200, body)).toThrow(RideApiGarbled);
    },
  );

  it.each([
    [404, 'ORDER_UNKNOWN'],
    [401, 'TOKEN_REJECTED'],
    [403, 'FORBIDDEN'],
    [500, 'UPSTREAM_FAILED'],
    [201, 'UNEXPECTED_STATUS'],
  ])('%i is the error %s', (status, code) => {
    expect(() => interpret(status, {})).toThrow(RideApiError);
    expect(() => interpret(status, {})).toThrow(expect.objectContaining({ code }));
  });

  it('that is an error in disguise is an error', () => {
    const body = { status: 'error', error: { code: 'X', message: 'x' } };
    expect(() => interpret(200, body)).toThrow(expect.objectContaining({ code: 'ERROR_IN_SUCCESS' }));
  });
});
