import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseContractProfile,
  defaultContractProfile as profile,
} from '../../src/contracts/default-contract-profile.js';
import { FaretrailError, InvalidInput } from '../../src/domain/errors.js';
import { isOrderId, type OrderId, toOrderId } from '../../src/domain/keys.js';
import { RideApiGarbled } from '../../src/ride-api/errors.js';
import { operationScope } from '../../src/ride-api/operation-request.js';
import { interpretOrderReply, interpretReceiptReply, orderRequest, receiptRequest } from '../../src/ride-api/order.js';
import bodies from '../fixtures/error-bodies.assumed.json' with { type: 'json' };
import assumed from '../fixtures/order-replies.assumed.json' with { type: 'json' };
import { forAny } from '../support/for-any.js';
import { answer, businessAccount, failure, partnerAccount } from './accounts.js';

const orderId = toOrderId('4711');

describe('the request that reads an order', () => {
  it('of the partner interface is as the service states it', () => {
    expect(orderRequest(partnerAccount(), orderId, 't0ken', profile)).toEqual({
      method: 'GET',
      url: 'https://partner.example/v1/private/orders/status/4711',
      headers: { Authorization: 'Bearer t0ken', 'Content-Type': 'application/json' },
    });
  });

  it.each([
    [orderRequest, '4711'],
    [receiptRequest, '4711/receipt'],
  ])('of the business interface names the company (assumed): %o', (request, path) => {
    expect(request(businessAccount(), orderId, 't0ken', profile)).toEqual({
      method: 'GET',
      url: `https://business.example/v1/orders/${path}?businessId=11111111-2222-4333-8444-555555555555`,
      headers: { Accept: 'application/json', Authorization: 'Bearer t0ken', 'Content-Type': 'application/json' },
    });
  });

  it('keeps any order id within one part of the path, where the other end reads the same id', () => {
    const path = (id: string) => orderRequest(partnerAccount(), id as OrderId, 't', profile).url;
    forAny(fc.string({ unit: 'binary' }).filter(isOrderId), (id) => {
      const parts = new URL(path(id)).pathname.split('/').map(decodeURIComponent);
      expect(parts).toEqual(['', 'v1', 'private', 'orders', 'status', id]);
    });
    expect(path('a?b#c %2F{id}$&')).toMatch(/\/status\/a%3Fb%23c%20%252F%7Bid%7D%24%26$/);
    for (const id of ['.', '..']) expect(() => path(id)).toThrow('order_id: must not be');
  });

  it('of a receipt cannot be made at the partner interface', () => {
    expect(() => receiptRequest(partnerAccount(), orderId, 't', profile)).toThrow(InvalidInput);
  });

  it('is not made when the profile switches the operation off or moves it to the other interface', () => {
    const off = parseContractProfile({ operations: { orderDetails: { enabled: false } } });
    expect(() => orderRequest(businessAccount(), orderId, 't', off)).toThrow('operations.orderDetails.enabled');
    const moved = parseContractProfile({ operations: { orderDetails: { interface: 'partner' } } });
    expect(() => orderRequest(businessAccount(), orderId, 't', moved)).toThrow('not an operation of the business');
  });

  it('is not made without a value that its path needs', () => {
    const { businessId: _, ...account } = businessAccount();
    expect(() => orderRequest(account, orderId, 't', profile)).toThrow('business_id: needed');
  });

  it('needs the scope that the profile names', () => {
    expect(operationScope(partnerAccount(), 'orderStatus', profile)).toBe('demand_partner');
    expect(operationScope(businessAccount(), 'orderReceipt', profile)).toBe('finance');
    const wider = parseContractProfile({ operations: { orderDetails: { scope: 'order finance' } } });
    expect(operationScope(businessAccount(), 'orderDetails', wider)).toBe('finance order');
  });
});

const context = { account: businessAccount(), orderId, accessToken: 't0ken', profile, now: 0, maxWaitMs: 600_000 };
const interpret = (reply: ReturnType<typeof answer>) => interpretOrderReply(reply, context);

describe('the answer to a read of an order or a receipt', () => {
  it('gives the reading of an order at both interfaces', () => {
    expect(interpret(answer(200, assumed.details))).toMatchObject({ status: 'Driving', terminal: false });
    const partner = { ...context, account: partnerAccount() };
    expect(interpretOrderReply(answer(200, { order_status: 'Completed' }), partner).terminal).toBe(true);
  });

  it.each(['Dri\u0000ving', '\u001b[31mDriving', '\u202egnivirD', 'Driving\n| a |'])(
    'may have the status %j',
    (status) => {
      expect(interpret(answer(200, { status }))).toMatchObject({ rawStatus: status, terminal: false });
    },
  );

  it.each([
    [400, 'BAD_REQUEST', undefined],
    [401, 'TOKEN_REJECTED', undefined],
    [402, 'PAYMENT_REQUIRED', undefined],
    [403, 'FORBIDDEN', undefined],
    [404, 'ORDER_UNKNOWN', undefined],
    [409, 'REFUSED', undefined],
    [422, 'UNPROCESSABLE', undefined],
    [202, 'UNEXPECTED_STATUS', undefined],
    [301, 'REDIRECTED', undefined],
    [307, 'REDIRECTED', undefined],
    [429, 'RATE_LIMITED', 3_000],
    [500, 'UPSTREAM_FAILED', 3_000],
    [503, 'UPSTREAM_FAILED', 3_000],
  ])('with status %i is the error %s (wait in ms: %s)', (status, code, retryAfterMs) => {
    const error = failure('RideApiError', code, { status, retryable: retryAfterMs !== undefined, retryAfterMs });
    const reply = answer(status, { status: 'Driving' }, { 'retry-after': '3' });
    expect(() => interpret(reply)).toThrow(error);
    expect(() => interpretReceiptReply(reply, context)).toThrow(error);
  });

  it('with an error envelope is an error in spite of its 200', () => {
    const words = { upstreamCode: 'VALIDATION_ERROR', requestId: '0b9d2c3e-0000-4000-8000-000000000001' };
    const error = failure('RideApiError', 'ERROR_IN_SUCCESS', words);
    expect(() => interpret(answer(200, bodies.envelope))).toThrow(error);
    expect(() => interpretReceiptReply(answer(200, bodies.envelope), context)).toThrow(error);
  });

  it('keeps the request id of the header when the body names none', () => {
    const reply = answer(500, undefined, { 'x-request-id': 'req-1' });
    expect(() => interpret(reply)).toThrow(failure('RideApiError', 'UPSTREAM_FAILED', { requestId: 'req-1' }));
  });

  it('is unusable without a status, or about another order', () => {
    expect(() => interpret(answer(200))).toThrow(failure('UnusableReply', 'UNREADABLE_STATUS'));
    expect(() => interpret(answer(200, { id: '1', status: 'Completed' }))).toThrow(
      failure('UnusableReply', 'ORDER_MISMATCH'),
    );
  });

  it('gives the receipt with amounts as numbers or text, and other fields where personal data is kept', () => {
    const receipt = { payment_summary: { total_inc_tax: '22.00', total_tax: 2 }, calculation: {} };
    const reply = answer(200, { ...receipt, unknown: [1] });
    expect(interpretReceiptReply(reply, context)).toEqual(receipt);
    const keeping = { ...context, keepsPersonalData: true };
    expect(interpretReceiptReply(reply, keeping)).toEqual({ ...receipt, unknown: [1] });
  });

  it.each([undefined, null, [], 'paid', 7, { filler: 'x'.repeat(70_000) }])('is no receipt: %#', (body) => {
    expect(() => interpretReceiptReply(answer(200, body), context)).toThrow(RideApiGarbled);
  });

  it('of any status and any JSON is a reading or a coded error', () => {
    forAny(fc.integer({ min: 200, max: 599 }), fc.jsonValue(), fc.string(), (status, body, retryAfter) => {
      try {
        interpret(answer(status, body, { 'retry-after': retryAfter }));
      } catch (error) {
        expect(error).toBeInstanceOf(FaretrailError);
      }
    });
  });
});
