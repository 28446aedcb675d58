import { type Answer, errorAnswer, jsonAnswer } from '../answers.js';
import { type Endpoint, refuseScope, refuseToken, type ServiceCall, withToken } from '../endpoint.js';
import type { SandboxState } from '../sandbox-state.js';
import { mediaTypeOf } from '../token/form.js';
import type { IssuedToken } from '../token/tokens.js';
import { orderDetailsBody, orderStatusBody } from './bodies.js';

/**
 * Reads of orders. At the partner interface path and the Content-Type on a GET are given; at the business interface the scope is given, path
 * and `businessId` assumed.
 */
export const orderEndpoints = (state: SandboxState): Endpoint[] => [
  withToken(state.tokens, {
    ...{ operation: 'orderStatus', method: 'GET', url: '/v1/private/orders/status/:orderId' },
    refuse: (token, { headers }) =>
      refuseToken(token) ??
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
    refuseToken(token) ?? refuseScope(token, 'business', scope) ?? refuseCompany(state, query.businessId);

function refuseContentType(contentType: string | undefined): Answer | undefined {
  if (mediaTypeOf(contentType) === 'application/json') return undefined;
  const details = { 'Content-Type': 'must be application/json' };
  return errorAnswer(400, 'VALIDATION_ERROR', 'header missing', { details });
}

/** The call must name the company of the credentials (assumed). */
export function refuseCompany(state: SandboxState, businessId: unknown): Answer | undefined {
  if (businessId === state.businessId) return undefined;
  if (typeof businessId === 'string' && businessId !== '') {
    return errorAnswer(403, 'FORBIDDEN', 'businessId is not the company of this token');
  }
  return errorAnswer(400, 'VALIDATION_ERROR', 'query missing', { details: { businessId: 'is required, once' } });
}

/** 404 (assumed). */
export const unknownOrder = (): Answer => errorAnswer(404, 'ORDER_NOT_FOUND', 'no such order');

function answerStatus(state: SandboxState, orderId: string): Answer {
  const order = state.orders.find('partner', orderId);
  return order ? jsonAnswer(200, orderStatusBody(order, state.statusShape, Date.now())) : unknownOrder();
}

function answerDetails(state: SandboxState, orderId: string): Answer {
  const order = state.orders.find('business', orderId);
  return order ? jsonAnswer(200, orderDetailsBody(order, Date.now())) : unknownOrder();
}
