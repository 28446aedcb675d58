import { type Answer, errorAnswer, jsonAnswer } from '../answers.js';
import { type Endpoint, refuseScope, refuseToken, tokenFacts } from '../endpoint.js';
import type { SandboxState } from '../sandbox-state.js';
import { mediaTypeOf } from '../token/form.js';
import { orderDetailsBody, orderStatusBody } from './bodies.js';

/** Order status at the partner interface: path and the Content-Type on a GET are given. */
export const orderStatusEndpoint = (state: SandboxState): Endpoint => ({
  operation: 'orderStatus',
  method: 'GET',
  url: '/v1/private/orders/status/:orderId',
  prepare({ headers, params: { orderId = '' } }) {
    const token = state.tokens.ofHeader(headers.authorization);
    const answer = (): Answer =>
      refuseToken(token) ??
      refuseContentType(headers['content-type']) ??
      refuseScope(token, 'partner', 'demand_partner') ??
      answerStatus(state, orderId);
    return { facts: { ...tokenFacts(token), orderId }, answer };
  },
});

/** Order details at the business interface: scope given, path and `businessId` assumed. */
export const orderDetailsEndpoint = (state: SandboxState): Endpoint => ({
  operation: 'orderDetails',
  method: 'GET',
  url: '/v1/orders/:orderId',
  prepare({ headers, query, params: { orderId = '' } }) {
    const token = state.tokens.ofHeader(headers.authorization);
    const answer = (): Answer =>
      refuseToken(token) ??
      refuseScope(token, 'business', 'order') ??
      refuseCompany(state, query.businessId) ??
      answerDetails(state, orderId);
    return { facts: { ...tokenFacts(token), orderId }, answer };
  },
});

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
