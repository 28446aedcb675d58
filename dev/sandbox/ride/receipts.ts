import { type Answer, errorAnswer, jsonAnswer } from '../answers.js';
import { type Endpoint, withToken } from '../endpoint.js';
import { readCheck } from '../order/endpoints.js';
import type { SandboxState } from '../sandbox-state.js';
import { receiptBody } from './receipt-bodies.js';

/** The receipt of an order (published 2.3, but for its first time). Orders that went on to an end without costs have none. */
export const receiptEndpoints = (state: SandboxState): Endpoint[] => [
  withToken(state.tokens, {
    ...{ operation: 'orderReceipt', method: 'GET', url: '/v1/orders/:orderId/receipt' },
    refuse: readCheck(state, 'finance'),
    answer: ({ params: { orderId = '' } }) => answerReceipt(state, orderId),
  }),
];

function answerReceipt({ orders, rideSettings, speed }: SandboxState, orderId: string): Answer {
  const order = orders.find('business', orderId);
  const body = order && receiptBody(order, { ...rideSettings, speed, now: Date.now() });
  if (body) return jsonAnswer(200, body);
  return errorAnswer('business', 404, 'receipt_not_found', 'No such order, or it has no receipt yet');
}
