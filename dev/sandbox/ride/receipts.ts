import { isSameStatus } from '../../../src/domain/order/status.js';
import { type Answer, errorAnswer, jsonAnswer } from '../answers.js';
import { type Endpoint, withToken } from '../endpoint.js';
import { readCheck } from '../order/endpoints.js';
import type { LiveOrder } from '../order/orders.js';
import type { SandboxState } from '../sandbox-state.js';

/** The receipt of an order: scope given, path and body assumed. The order must have ended. */
export const receiptEndpoints = (state: SandboxState): Endpoint[] => [
  withToken(state.tokens, {
    ...{ operation: 'orderReceipt', method: 'GET', url: '/v1/orders/:orderId/receipt' },
    refuse: readCheck(state, 'finance'),
    answer: ({ params: { orderId = '' } }) => answerReceipt(state, state.orders.find('business', orderId), Date.now()),
  }),
];

function answerReceipt({ rideSettings, speed }: SandboxState, order: LiveOrder | undefined, now: number): Answer {
  const reached = order?.steps.findLast((step) => step.at <= now);
  const end = reached && endings.some((word) => isSameStatus(reached.status, word)) ? reached : undefined;
  const { receiptAfterMs, receiptChangesAfterMs } = rideSettings;
  if (!end || now < end.at + receiptAfterMs / speed) {
    return errorAnswer(404, 'RECEIPT_NOT_FOUND', 'no such order, or it has no receipt yet');
  }
  const isChanged = receiptChangesAfterMs !== null && now >= end.at + receiptChangesAfterMs / speed;
  const bodies = isSameStatus(end.status, 'Cancelled') ? cancelledReceipts : completedReceipts;
  return jsonAnswer(200, isChanged ? bodies.changed : bodies.first);
}

const endings = ['Completed', 'Cancelled'];

/** Amounts as numbers and as text, since the service may send both (assumed). `changed`: after the recalculation. */
const completedReceipts = {
  first: {
    payment_summary: { currency_code: 'EUR', total_exc_tax: 20, total_tax: '2.00', total_inc_tax: '22.00' },
    calculation: { driving: 18.5, tolls: 1.5, tax: '2.00', tips: 0 },
  },
  changed: {
    payment_summary: { currency_code: 'EUR', total_exc_tax: 22, total_tax: '2.20', total_inc_tax: '24.20' },
    calculation: { driving: 18.5, tolls: 3.5, tax: '2.20', tips: 0 },
  },
};
const cancelledReceipts = {
  first: {
    payment_summary: { currency_code: 'EUR', total_exc_tax: 5, total_tax: '0.50', total_inc_tax: '5.50' },
    calculation: { cancellation: 5, tax: '0.50' },
  },
  changed: {
    payment_summary: { currency_code: 'EUR', total_exc_tax: 4, total_tax: '0.40', total_inc_tax: '4.40' },
    calculation: { cancellation: 4, tax: '0.40' },
  },
};
