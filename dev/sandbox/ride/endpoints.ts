import { type Answer, errorAnswer, jsonAnswer } from '../answers.js';
import { type Endpoint, type ServiceCall, withToken } from '../endpoint.js';
import { unknownOrder } from '../order/endpoints.js';
import { type LiveOrder, statusAt } from '../order/orders.js';
import { numberOrText } from '../order/wire-id.js';
import { businessCheck, invalidBody, parsedBody } from '../request-checks.js';
import type { SandboxState } from '../sandbox-state.js';
import { NewOrderSchema, OrderChangeSchema } from './body.js';
import { findProduct } from './catalogue.js';
import { refuseCancel, refuseEdit, refuseOrder, refuseTime } from './rules.js';

/** Create, change and cancel an order: names and scopes given, the rest published (2.3) but for the answer to a change. */
export const rideEndpoints = (state: SandboxState): Endpoint[] => [
  withToken(state.tokens, {
    ...{ operation: 'createOrder', method: 'POST', url: '/v1/orders' },
    refuse: businessCheck(state, 'order'),
    answer: (call) => answerCreate(state, call),
    facts: (call) => ({ requestId: requestIdOf(call) }),
  }),
  withToken(state.tokens, {
    ...{ operation: 'updateOrder', method: 'PATCH', url: '/v1/orders/:orderId' },
    refuse: businessCheck(state, 'order'),
    answer: (call) => withOrder(state, call, (live) => answerUpdate(state, live, parsedBody(call.body))),
  }),
  withToken(state.tokens, {
    ...{ operation: 'cancelOrder', method: 'POST', url: '/v1/orders/:orderId/cancel' },
    refuse: businessCheck(state, 'order'),
    answer: (call) => withOrder(state, call, (live) => answerCancel(state, live)),
  }),
];

const withOrder = (
  { orders }: SandboxState,
  { params: { orderId = '' } }: ServiceCall,
  answer: (live: LiveOrder) => Answer,
): Answer => {
  const live = orders.find('business', orderId);
  return live ? answer(live) : unknownOrder('business');
};

/** An empty header counts as absent. */
const requestIdOf = ({ headers }: ServiceCall): string | undefined => headers['x-request-id']?.toString() || undefined;

function answerCreate(state: SandboxState, call: ServiceCall): Answer {
  const { rides, rideSettings } = state;
  const { data, error } = NewOrderSchema.safeParse(parsedBody(call.body));
  if (error) return invalidBody(error);
  const requestId = requestIdOf(call);
  const before = rideSettings.forgetsRequestIds ? undefined : rides.repeated(requestId, call.body);
  if (before?.isSame) return createdAnswer(200, before.orderId);
  if (before)
    return errorAnswer('business', 409, 'request_id_reused', 'This X-Request-ID came with another body before');
  const refused = refuseOrder(data, rideSettings, Date.now()) ?? state.quotes.refuse(data, rideSettings);
  if (refused) return refused;
  const { orderId } = rides.add(data, call.body, requestId, rideSettings);
  return createdAnswer(201, orderId);
}

const createdAnswer = (status: number, orderId: string): Answer => ({
  ...jsonAnswer(status, { id: numberOrText(orderId) }),
  orderId,
});

function answerUpdate(state: SandboxState, live: LiveOrder, body: unknown): Answer {
  const { data: change, error } = OrderChangeSchema.safeParse(body);
  if (error) return invalidBody(error);
  const { orderId, scheduledAt } = live.order;
  const ordered = state.rides.find(orderId)?.order;
  const now = Date.now();
  const edited = { status: statusAt(live, now), scheduledAt, product: ordered && findProduct(ordered.product_id) };
  return (
    refuseEdit(edited, { speed: state.speed, now }) ??
    (ordered
      ? changeOrdered(state, orderId, { ...ordered, ...change })
      : changeTime(state, orderId, change.scheduled_at)) ??
    jsonAnswer(200, { id: numberOrText(orderId) })
  );
}

function changeOrdered({ rides, rideSettings }: SandboxState, orderId: string, changed: object): Answer | undefined {
  const { data, error } = NewOrderSchema.safeParse(changed);
  if (error) return invalidBody(error);
  const refused = refuseOrder(data, rideSettings, Date.now());
  if (!refused) rides.change(orderId, data);
  return refused;
}

/** An order that a command added has no body, so only its time can change. */
function changeTime({ orders }: SandboxState, orderId: string, scheduledAt: string | undefined): Answer | undefined {
  const refused = refuseTime(scheduledAt, Date.now());
  if (!refused && scheduledAt !== undefined) orders.reschedule('business', orderId, scheduledAt);
  return refused;
}

function answerCancel({ orders, rideSettings }: SandboxState, live: LiveOrder): Answer {
  const refused = refuseCancel(statusAt(live, Date.now()));
  if (refused) return refused;
  orders.continueWith('business', live.order.orderId, [{ status: 'Cancelled', afterMs: rideSettings.cancelTakesMs }]);
  return { status: 204, headers: {}, text: '' };
}
