import type { AccountName, DeliveryId, OrderId } from '../../src/domain/keys.js';
import type { EventType } from '../../src/domain/subscription/subscription.js';
import { defaultTaskQueue } from '../../src/domain/task-queues.js';
import {
  accountWatchId,
  businessCallId,
  companyReportId,
  followOrderId,
  parkedDeliveryId,
  requestRideId,
  subscriptionId,
} from '../../src/domain/workflow-ids.js';
import { signatureHeaders } from '../../src/notify-http/sender.js';
import type * as workflows from '../../src/workflows/index.js';
import * as messages from '../../src/workflows/messages.js';
import { infoOf } from './published-openapi.js';
import type { publishedSchemas } from './published-schemas.js';

type SchemaName = keyof typeof publishedSchemas;

/** A message that a run takes. */
interface Exchange {
  of: { type: 'signal' | 'update' | 'query'; name: string };
  does: string;
  argument?: SchemaName;
  answer?: SchemaName;
}

/** What callers may rely on of one type of runs. */
interface Run {
  does: string;
  /** Its workflow id, with the names of its parts in braces. */
  id: string;
  /** Absent: callers do not start it. */
  input?: SchemaName;
  result: SchemaName;
  takes: readonly Exchange[];
}

const account = '{account}' as AccountName;
const orderId = '{orderId}' as OrderId;
const eventType = '{eventType}' as EventType;
const deliveryId = '{deliveryId}' as DeliveryId;
const operation = '{operation}' as Parameters<typeof businessCallId>[0]['operation'];

const deliveries: Exchange = {
  of: messages.deliveryReceivedSignal,
  does: 'Deliveries have come: a hint, after which the run reads.',
  argument: 'delivery-notices',
};

const runs: Partial<Record<keyof typeof workflows, Run>> = {
  followOrder: {
    does: 'Follows an order to its end. Start it as signal-with-start of followRequested.',
    id: followOrderId({ account, orderId }),
    ...{ input: 'follow-order-input', result: 'order-trail' },
    takes: [
      { of: messages.orderTrailQuery, does: 'The trail as it stands.', answer: 'order-trail' },
      { of: messages.refreshOrderUpdate, does: 'Reads the order now.', answer: 'order-trail' },
      {
        of: messages.stopFollowingUpdate,
        does: 'Ends the run with the outcome stopped; the order goes on.',
        ...{ argument: 'stop-following-input', answer: 'order-trail' },
      },
      deliveries,
      {
        of: messages.followRequestedSignal,
        does: 'Sets what the run does not know yet, and adds receivers.',
        argument: 'follow-request',
      },
    ],
  },
  requestRide: {
    does: 'Orders a ride, follows its order to the end, and reads its receipt.',
    id: requestRideId({ account, requestId: '{requestId}' }),
    ...{ input: 'request-ride-input', result: 'ride-result' },
    takes: [
      { of: messages.rideStatusQuery, does: 'Where the ride stands.', answer: 'ride-standing' },
      {
        of: messages.updateRideUpdate,
        does: 'Changes the order of the ride.',
        ...{ argument: 'ride-update', answer: 'ride-standing' },
      },
      { of: messages.cancelRideUpdate, does: 'Cancels the order of the ride.', answer: 'ride-standing' },
      {
        of: messages.resolveRideUpdate,
        does: 'Decides a ride with the attention outcomeUnknown.',
        ...{ argument: 'ride-resolution', answer: 'ride-standing' },
      },
    ],
  },
  businessCall: {
    does: 'Carries out one operation of the business interface.',
    id: businessCallId({ account, operation, key: '{key}' }),
    ...{ input: 'business-call-input', result: 'business-call-result' },
    takes: [],
  },
  subscription: {
    does: 'Keeps one subscription in place until it is ended.',
    id: subscriptionId({ account, eventType }),
    ...{ input: 'subscription-input', result: 'subscription-end' },
    takes: [
      {
        of: messages.subscriptionStatusQuery,
        does: 'Its addresses, and what needs a person.',
        answer: 'subscription-status',
      },
      {
        of: messages.rotateSubscriptionUpdate,
        does: 'Subscribes at a new path, with a new secret. The argument may be left out.',
        ...{ argument: 'rotate-subscription-input', answer: 'subscription-status' },
      },
      {
        of: messages.moveSubscriptionUpdate,
        does: 'The same at another public URL.',
        ...{ argument: 'move-subscription-input', answer: 'subscription-status' },
      },
      {
        of: messages.endSubscriptionUpdate,
        does: 'Ends the run; the ingress refuses its deliveries from now on.',
        ...{ argument: 'end-subscription-input', answer: 'subscription-end' },
      },
    ],
  },
  companyReport: {
    does: 'Reads the receipt after each business report. The ingress starts it; a caller may start it before.',
    id: companyReportId({ account, about: orderId }),
    ...{ input: 'company-report-input', result: 'company-report' },
    takes: [{ of: messages.reportStatusQuery, does: 'The report as it stands.', answer: 'company-report' }, deliveries],
  },
  parkedDelivery: {
    does: 'Keeps a delivery that the ingress could not place. Only the ingress starts it.',
    id: parkedDeliveryId({ account, deliveryId }),
    result: 'parked-delivery',
    takes: [
      { of: messages.parkedStatusQuery, does: 'The delivery without its content.', answer: 'parked-delivery' },
      {
        of: messages.routeDeliveryUpdate,
        does: 'Gives the delivery to an order and ends the run.',
        ...{ argument: 'route-delivery-input', answer: 'routed-delivery' },
      },
      {
        of: messages.discardDeliveryUpdate,
        does: 'Ends the run without doing anything with the delivery.',
        ...{ argument: 'discard-delivery-input', answer: 'parked-delivery' },
      },
    ],
  },
  accountWatch: {
    does: 'Has one worker poll all live orders of an account. Only workers start it.',
    id: accountWatchId(account, defaultTaskQueue),
    result: 'watch-status',
    takes: [
      {
        of: messages.watchStatusQuery,
        does: 'Which worker polls, and the trouble of the whole account, as the worker told it last.',
        answer: 'watch-status',
      },
    ],
  },
};

/** The schemas stay in files of their own: each shape has one place, which validators of JSON Schema read as it is. */
const messageOf = (name: string, title: string, schema: SchemaName | undefined, more: object = {}): object => ({
  ...{ name, title, contentType: 'application/json', ...more },
  ...(schema && { payload: { $ref: `./${schema}.json` } }),
});

const channelRef = (channel: string) => ({ $ref: `#/channels/${channel}` });
const messageRef = (channel: string, message: string) => ({ $ref: `#/channels/${channel}/messages/${message}` });

function channelOf(type: string, { does, id, input, result, takes }: Run): object {
  const parts = [...id.matchAll(/\{(\w+)\}/g)].map(([, part = '']) => [part, {}]);
  const exchanged = takes.flatMap(({ of: { name }, argument, answer }) => [
    [name, messageOf(name, name, argument)],
    ...(answer ? [[`${name}.answer`, messageOf(`${name}.answer`, `Answer of ${name}`, answer)]] : []),
  ]);
  return {
    ...{ address: id, title: type, description: does },
    parameters: Object.fromEntries(parts),
    messages: {
      ...(input && { input: messageOf(`${type}.input`, `Input of ${type}`, input) }),
      result: messageOf(`${type}.result`, `Result of ${type}`, result),
      ...Object.fromEntries(exchanged),
    },
  };
}

/** What a run takes, as operations of the worker. `x-temporal` says by which means of Temporal. */
function operationsOf(type: string, { does, input, takes }: Run): [string, object][] {
  const receive = (by: string, summary: string, message: string | null, answer: string | null): object => ({
    ...{ action: 'receive', channel: channelRef(type), summary, 'x-temporal': by },
    ...(message && { messages: [messageRef(type, message)] }),
    ...(answer && { reply: { channel: channelRef(type), messages: [messageRef(type, answer)] } }),
  });
  return [
    ...(input ? [[`${type}.start`, receive('workflow', does, 'input', 'result')] as [string, object]] : []),
    ...takes.map(({ of, does: summary, answer }): [string, object] => [
      `${type}.${of.name}`,
      receive(of.type, summary, of.name, answer ? `${of.name}.answer` : null),
    ]),
  ];
}

const told = {
  orderChanged: messageOf('orderChanged', 'A change of an order', 'order-change'),
  reportChanged: messageOf('reportChanged', 'News of a company report', 'company-report-notice'),
};

const temporal = {
  asyncapi: '3.0.0',
  info: infoOf(
    'faretrail workflows',
    'What other programs start, ask and tell by way of Temporal. A channel is the runs of one workflow type, its address their workflow id, its title the type. Payloads are json/plain.',
  ),
  defaultContentType: 'application/json',
  servers: {
    temporal: {
      ...{ host: '{address}', pathname: '/{namespace}', protocol: 'temporal' },
      description: 'The task queue is faretrail unless FARETRAIL_TASK_QUEUE says otherwise.',
      variables: { address: { default: 'localhost:7233' }, namespace: { default: 'default' } },
    },
  },
  channels: {
    ...Object.fromEntries(Object.entries(runs).map(([type, run]) => [type, channelOf(type, run)])),
    receiver: {
      ...{ address: '{workflowId}', title: 'Workflows in notify' },
      description: 'Each gets the signal that `notify` names with it.',
      parameters: { workflowId: {} },
      messages: told,
    },
  },
  operations: Object.fromEntries([
    ...Object.entries(runs).flatMap(([type, run]) => operationsOf(type, run)),
    [
      'tellReceiver',
      {
        ...{ action: 'send', channel: channelRef('receiver'), 'x-temporal': 'signal' },
        summary: 'Tells of each change, and of the end.',
        messages: Object.keys(told).map((name) => messageRef('receiver', name)),
      },
    ],
  ]),
};

const noticeHeaders = {
  type: 'object',
  properties: {
    [signatureHeaders.id]: { type: 'string', description: 'The same whenever this notice is sent.' },
    [signatureHeaders.timestamp]: { type: 'string', pattern: '^[0-9]+$', description: 'Seconds since 1970.' },
    [signatureHeaders.signature]: {
      type: 'string',
      pattern: '^v1,[A-Za-z0-9+/]+=*( v1,[A-Za-z0-9+/]+=*)*$',
      description: 'Of Standard Webhooks 1.0; several while the secret changes.',
    },
    traceparent: {
      type: 'string',
      pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$',
      description: 'Of W3C Trace Context, where the worker sends traces.',
    },
  },
  required: Object.values(signatureHeaders),
};

const notice = (name: string, title: string, schema: SchemaName): object =>
  messageOf(name, title, schema, { headers: noticeHeaders });

const notices = {
  order: notice('order', 'A change of an order, or its end', 'order-event'),
  ride: notice('ride', 'News of a ride itself', 'ride-event'),
  report: notice('report', 'News of a company report', 'company-report-event'),
};

const noticesToUrls = {
  asyncapi: '3.0.0',
  info: infoOf(
    'faretrail notices',
    'What each URL in `notify` gets by POST, in order and one at a time. Any 2xx takes a notice; 410 ends the notices to this URL.',
  ),
  defaultContentType: 'application/json',
  servers: {
    receiver: {
      ...{ host: '{receiver}', protocol: 'https' },
      description: 'An origin of FARETRAIL_NOTIFY_ORIGINS.',
      variables: { receiver: { default: 'localhost' } },
    },
  },
  channels: {
    notices: { description: 'Its address is the path and query of the URL.', messages: notices },
  },
  operations: {
    sendNotice: {
      ...{ action: 'send', channel: channelRef('notices'), summary: 'Tells of each change, and of the end.' },
      bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
      messages: Object.keys(notices).map((name) => messageRef('notices', name)),
    },
  },
};

/** What faretrail tells and takes as AsyncAPI 3, by the published names in docs/schema. */
export const publishedAsyncApi = { 'asyncapi-notices': noticesToUrls, 'asyncapi-temporal': temporal };
