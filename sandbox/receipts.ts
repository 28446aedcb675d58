import { isSameStatus } from '../src/domain/ride-status.js';
import { type Answer, errorAnswer, jsonAnswer } from './answers.js';
import { type Endpoint, refuseScope, refuseToken, tokenFacts } from './endpoint.js';
import { refuseCompany } from './order-endpoints.js';
import { type LiveOrder, statusAt } from './orders.js';
import type { SandboxState } from './sandbox-state.js';

/** The receipt of an order: scope given, path and body assumed (upstream section 5.3). None before the order has ended. */
export const orderReceiptEndpoint = (state: SandboxState): Endpoint => ({
  operation: 'orderReceipt',
  method: 'GET',
  url: '/v1/orders/:orderId/receipt',
  prepare({ headers, query, params: { orderId = '' } }) {
    const token = state.tokens.ofHeader(headers.authorization);
    const answer = (): Answer =>
      refuseToken(token) ??
      refuseScope(token, 'business', 'finance') ??
      refuseCompany(state, query.businessId) ??
      answerReceipt(state.orders.find('business', orderId));
    return { facts: { ...tokenFacts(token), orderId }, answer };
  },
});

function answerReceipt(order: LiveOrder | undefined): Answer {
  const status = order && statusAt(order, Date.now());
  if (status !== undefined && isSameStatus(status, 'Completed')) return jsonAnswer(200, receiptBody(false));
  if (status !== undefined && isSameStatus(status, 'Cancelled')) return jsonAnswer(200, receiptBody(true));
  return errorAnswer(404, 'RECEIPT_NOT_FOUND', 'no such order, or it has no receipt yet');
}

/** Amounts as numbers and as text, since both may come (assumed). */
const receiptBody = (isCancelled: boolean) => ({
  payment_summary: isCancelled
    ? { currency_code: 'EUR', total_exc_tax: 5, total_tax: '0.50', total_inc_tax: '5.50' }
    : { currency_code: 'EUR', total_exc_tax: 20, total_tax: '2.00', total_inc_tax: '22.00' },
  calculation: isCancelled ? { cancellation: 5, tax: '0.50' } : { driving: 18.5, tolls: 1.5, tax: '2.00', tips: 0 },
});
