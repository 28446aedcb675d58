import { randomUUID } from 'node:crypto';
import { request } from 'undici';
import { type Answer, errorAnswer, jsonAnswer } from '../answers.js';
import type { DeliverySettings } from '../delivery/settings.js';
import { type Endpoint, refuseToken, type ServiceCall, withToken } from '../endpoint.js';
import { refuseCompany } from '../order/endpoints.js';
import { invalidBody, parsedBody, refuseHeaders } from '../request-checks.js';
import type { SandboxState } from '../sandbox-state.js';
import type { IssuedToken } from '../token/tokens.js';
import { type Subscriber, SubscriptionBodySchema } from './subscribers.js';

/**
 * Subscribers. To create one: path, headers, body, answer and the token without scope are given. To list and delete them is assumed; the list
 * has no secrets, since it is unknown whether the service shows them again.
 */
export function subscriberEndpoints(state: SandboxState): Endpoint[] {
  const refuse = (token: IssuedToken | undefined, { query }: ServiceCall): Answer | undefined =>
    refuseToken(token) ?? refuseScoped(token) ?? refuseCompany(state, query.businessId);
  const create = withToken(state.tokens, {
    ...{ operation: 'createSubscriber', method: 'POST', url: '/v1/subscribers' },
    refuse: (token, call) => refuse(token, call) ?? refuseHeaders(call),
    answer: ({ body }) => answerCreate(state, body),
  });
  return [
    {
      ...create,
      async prepare(call) {
        const prepared = await create.prepare(call);
        const { data } = SubscriptionBodySchema.safeParse(parsedBody(call.body));
        const isRight = !data || (await answersLook(data.hook_address, state.deliveries.settings().look));
        const refusal = () => errorAnswer(400, 'HOOK_ADDRESS_UNREACHABLE', 'the address does not answer as it must');
        return isRight ? prepared : { ...prepared, answer: refusal };
      },
    },
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

/** Tries an address before it becomes one of a subscriber (assumed: many services do). */
async function answersLook(address: string, look: DeliverySettings['look']): Promise<boolean> {
  if (look === 'none') return true;
  const challenge = randomUUID();
  const url = look === 'query' ? `${address}?challenge=${challenge}` : address;
  const method = look === 'body' ? 'POST' : look === 'head' ? 'HEAD' : 'GET';
  const body = look === 'body' ? JSON.stringify({ challenge }) : null;
  const reply = await request(url, { method, body, signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
  const text = (await reply?.body.text()) ?? '';
  return reply?.statusCode === 200 && (look === 'query' || look === 'body' ? text.includes(challenge) : true);
}

/** Subscriptions need a token that was requested without scope (given); 403 for any other is assumed. */
function refuseScoped(token: IssuedToken | undefined): Answer | undefined {
  if (token?.interface === 'business' && token.scope === '') return undefined;
  return errorAnswer(403, 'FORBIDDEN', 'needs a token of the business interface without scope');
}

function answerCreate(state: SandboxState, body: Buffer): Answer {
  const { data, error } = SubscriptionBodySchema.safeParse(parsedBody(body));
  if (error) return invalidBody(error);
  const subscriber = state.subscribers.add({ hookAddress: data.hook_address, eventType: data.event_types });
  return jsonAnswer(201, { ...subscriberBody(state, subscriber), secret_id: subscriber.secretId });
}

/** The given fields of the answer without the secret. Times have fractions of different lengths, so a client must keep them as text. */
const subscriberBody = ({ businessId }: SandboxState, { id, hookAddress, eventType, createdAt }: Subscriber) => ({
  id,
  hook_address: hookAddress,
  event_types: [{ event_type: eventType }],
  business_ids: [{ business_id: businessId }],
  created_at: createdAt.replace('Z', '256789Z'),
  updated_at: createdAt,
});

const answerList = (state: SandboxState): Answer =>
  jsonAnswer(200, { subscribers: state.subscribers.all().map((subscriber) => subscriberBody(state, subscriber)) });

const answerDelete = (state: SandboxState, id: string): Answer =>
  state.subscribers.remove(id)
    ? { status: 204, headers: {}, text: '' }
    : errorAnswer(404, 'SUBSCRIBER_NOT_FOUND', 'no such subscriber');
