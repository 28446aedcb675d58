import { type Answer, errorAnswer, jsonAnswer } from '../answers.js';
import { type Endpoint, refuseToken, type ServiceCall, withToken } from '../endpoint.js';
import { refuseCompany } from '../order/endpoints.js';
import { invalidBody, parsedBody, refuseHeaders } from '../request-checks.js';
import type { SandboxState } from '../sandbox-state.js';
import type { IssuedToken } from '../token/tokens.js';
import { type Subscriber, SubscriptionBodySchema } from './subscribers.js';

/**
 * Subscribers. To create one: path, headers, body, answer and the token without scope are given. That a list and a delete exist is published, and
 * that a list stands under `data` with the secrets, for a neighbour (2.1). Their paths are assumed.
 */
export function subscriberEndpoints(state: SandboxState): Endpoint[] {
  const refuse = (token: IssuedToken | undefined, { query }: ServiceCall): Answer | undefined =>
    refuseToken('business', token) ?? refuseScoped(token) ?? refuseCompany(state, query.businessId);
  return [
    withToken(state.tokens, {
      ...{ operation: 'createSubscriber', method: 'POST', url: '/v1/subscribers' },
      refuse: (token, call) => refuse(token, call) ?? refuseHeaders(call),
      answer: ({ body }) => answerCreate(state, body),
    }),
    withToken(state.tokens, {
      ...{ operation: 'listSubscribers', method: 'GET', url: '/v1/subscribers', refuse },
      answer: () => answerList(state),
    }),
    withToken(state.tokens, {
      ...{ operation: 'deleteSubscriber', method: 'DELETE', url: '/v1/subscribers/:id', refuse },
      answer: ({ params: { id = '' } }) => answerDelete(state, id),
    }),
  ];
}

/** Subscriptions need a token that was requested without scope (given); 403 for any other is assumed. */
function refuseScoped(token: IssuedToken | undefined): Answer | undefined {
  if (token?.interface === 'business' && token.scope === '') return undefined;
  return errorAnswer('business', 403, 'forbidden', 'Needs a token of the business interface without scope');
}

function answerCreate(state: SandboxState, body: Buffer): Answer {
  const { data, error } = SubscriptionBodySchema.safeParse(parsedBody(body));
  if (error) return invalidBody(error);
  const { hook_address: hookAddress, event_types: eventType, retries } = data;
  return jsonAnswer(201, subscriberBody(state, state.subscribers.add({ hookAddress, eventType, retries })));
}

const subscriberBody = ({ businessId }: SandboxState, { id, hookAddress, eventType, ...more }: Subscriber) => ({
  id,
  hook_address: hookAddress,
  event_types: [{ event_type: eventType }],
  business_ids: [{ business_id: businessId }],
  secret_id: more.secretId,
  created_at: more.createdAt,
  updated_at: more.createdAt,
});

const answerList = (state: SandboxState): Answer =>
  jsonAnswer(200, { data: state.subscribers.all().map((subscriber) => subscriberBody(state, subscriber)) });

const answerDelete = (state: SandboxState, id: string): Answer =>
  state.subscribers.remove(id)
    ? { status: 204, headers: {}, text: '' }
    : errorAnswer('business', 404, 'subscriber_not_found', 'No such subscriber');
