import type { RideInterface } from '../../../src/domain/account.js';
import { type Answer, errorAnswer, jsonAnswer } from '../answers.js';
import { type Endpoint, refuseScope, refuseToken, type ServiceCall, withToken } from '../endpoint.js';
import type { SandboxState } from '../sandbox-state.js';
import { mediaTypeOf } from '../token/form.js';
import type { IssuedToken } from '../token/tokens.js';
import { orderDetailsBody, partnerOrderBody } from './bodies.js';

/**
 * Reads of orders. At the partner interface path and the Content-Type on a GET are given; at the business interface the scope is given, the rest
 * published (2.3).
 */
export const orderEndpoints = (state: SandboxState): Endpoint[] => [
  withToken(state.tokens, {
    ...{ operation: 'orderStatus', method: 'GET', url: '/v1/private/orders/status/:orderId' },
    refuse: (token, { headers }) =>
      refuseToken('partner', token) ??
      refuseContentType(headers['content-type']) ??
      refuseScope(token, 'partner', 'demand_partner'),
    answer: ({ params: { orderId = '' } }) => answerStatus(state, orderId),
  }),
  withToken(state.tokens, {
    ...{ operation: 'orderDetails', method: 'GET', url: '/v1/orders/:orderId' },
    refuse: readCheck(state, 'order'),
    answer: ({ params: { orderId = '' } }) => answerDetails(state, orderId),
  }),
];

/** What a read at the business interface must carry. */
export const readCheck =
  (state: SandboxState, scope: string) =>
  (token: IssuedToken | undefined, { query }: ServiceCall): Answer | undefined =>
    refuseToken('business', token) ?? refuseScope(token, 'business', scope) ?? refuseCompany(state, query.businessId);

function refuseContentType(contentType: string | undefined): Answer | undefined {
  if (mediaTypeOf(contentType) === 'application/json') return undefined;
  const fields = { 'Content-Type': 'must be application/json' };
  return errorAnswer('partner', 400, 'validation_error', 'A header is missing', { fields });
}

/** The call must name the company of the credentials (published 2.2). */
export function refuseCompany(state: SandboxState, businessId: unknown): Answer | undefined {
  if (businessId === state.businessId) return undefined;
  if (typeof businessId === 'string' && businessId !== '') {
    return errorAnswer('business', 403, 'forbidden', 'businessId is not the company of this token');
  }
  return errorAnswer('business', 400, 'validation_error', 'The query is wrong', {
    fields: { businessId: 'is required, once' },
  });
}

/** 404 (assumed). */
export const unknownOrder = (at: RideInterface): Answer => errorAnswer(at, 404, 'order_not_found', 'No such order');

function answerStatus(state: SandboxState, orderId: string): Answer {
  const order = state.orders.find('partner', orderId);
  return order ? jsonAnswer(200, partnerOrderBody(order, Date.now())) : unknownOrder('partner');
}

function answerDetails(state: SandboxState, orderId: string): Answer {
  const order = state.orders.find('business', orderId);
  if (!order) return unknownOrder('business');
  return jsonAnswer(200, orderDetailsBody(order, state.rides.find(orderId)?.order, Date.now()));
}
