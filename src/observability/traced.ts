import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { deliveriesIn } from '../domain/delivery.js';
import { readTraceHeader, traceHeader } from '../domain/trace-context.js';
import type { NotifySender } from '../notify-http/sender.js';
import type { Http } from '../ride-api/http.js';
import type { DeliveryPort } from '../webhooks/delivery-port.js';
import type { IntakeAnswer, TakeDelivery } from '../webhooks/intake.js';
import type { SpanAbout, Tracing } from './tracing.js';

// The work of this process as spans: what it sends and takes over HTTP, and what it does for Temporal. Attributes are those of the semantic
// conventions of OpenTelemetry, where they have one. A URL stands in them without what may be secret. A delivery's trace crosses the journal
// and the signal as a traceparent in plain data, all others in a header of Temporal's messages.

type Attributes = SpanAbout['attributes'];

const redacted = 'REDACTED';

/** Of a URL with this path. Its query, and a name and password in it, stay out. */
function aboutUrl({ protocol, hostname, port, origin }: URL, path: string): Attributes {
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { 'url.full': `${origin}${path}`, 'server.address': hostname, 'server.port': Number(port || defaultPort) };
}

/** Says in the span of a call which request was made, and how it was answered. */
export const traceHttp = (http: Http, tracing: Tracing): Http => ({
  ...http,
  async send(request, signal) {
    const url = new URL(request.url);
    tracing.note(aboutUrl(url, url.pathname));
    const reply = await http.send(request, signal);
    tracing.note({ 'http.response.status_code': reply.status });
    return reply;
  },
});

/** Makes a span of each notice to a URL, and hands its trace on to the receiver. Path and query may be a secret of the receiver. */
export const traceNotices =
  (tracing: Tracing) =>
  (send: NotifySender['send']): NotifySender['send'] =>
  (input) => {
    const attributes = { 'http.request.method': 'POST', ...aboutUrl(new URL(input.url), `/${redacted}`) };
    return tracing.span({ name: 'POST', kind: 'CLIENT', attributes }, async ({ traceparent, note, fail }) => {
      const outcome = await send({ ...input, traceparent });
      if (outcome.kind === 'answered') note({ 'http.response.status_code': outcome.status });
      if (outcome.kind !== 'answered') fail(outcome.kind === 'unreachable' ? outcome.code : outcome.kind);
      else if (outcome.status >= 400) fail(String(outcome.status));
      return outcome;
    });
  };

const route = '/webhooks/:account/:eventType/:capability';

/** Makes a span of each delivery at one of our addresses, in the trace that its sender names. The journal and the signal continue it. */
export const traceIntake =
  (take: TakeDelivery, tracing: Tracing, statusOf: (outcome: IntakeAnswer['outcome']) => number): TakeDelivery =>
  (arrival, headers, rawBody) => {
    const { account, eventType } = arrival;
    const attributes = {
      ...{ 'http.request.method': 'POST', 'http.route': route, 'url.scheme': 'http' },
      'url.path': `/webhooks/${account}/${eventType}/${redacted}`,
      ...{ 'faretrail.account': account, 'faretrail.event_type': eventType },
    };
    const { traceparent } = headers;
    const parent = typeof traceparent === 'string' ? traceparent : undefined;
    return tracing.span({ name: `POST ${route}`, kind: 'SERVER', attributes, parent }, async (span) => {
      const answer = await take({ ...arrival, traceparent: span.traceparent }, headers, rawBody);
      const { outcome, deliveryId } = answer;
      const status = statusOf(outcome);
      span.note({
        ...{ 'http.response.status_code': status, 'faretrail.outcome': outcome },
        ...(deliveryId === undefined ? {} : { 'faretrail.delivery_id': deliveryId }),
      });
      if (status >= 500) span.fail(outcome);
      return answer;
    });
  };

/** Continues, in each signal, the trace of its newest delivery. */
export const traceSignals = <Port extends Pick<DeliveryPort, 'toRun'>>(port: Port, tracing: Tracing): Port => ({
  ...port,
  toRun: (about, deliveries) => {
    const to = about.eventType === 'business_report' ? 'report' : 'order';
    const attributes = {
      ...{ 'messaging.system': 'temporal', 'messaging.operation.name': 'signal', 'messaging.operation.type': 'send' },
      ...{ 'messaging.destination.name': to, 'messaging.batch.message_count': deliveriesIn(deliveries) },
      'faretrail.account': about.account,
    };
    const parent = deliveries.at(-1)?.traceparent;
    return tracing.span({ name: `signal ${to}`, kind: 'PRODUCER', attributes, parent }, async (span) => {
      const outcome = await port.toRun(about, deliveries);
      span.note({ 'faretrail.outcome': outcome });
      return outcome;
    });
  },
});

/** A read of an order in trouble has an attempt each minute, for days: no trace should hold them all. */
const continuedAttempts = 100;

/** Makes a span of each attempt of an activity, in the trace that its run hands on. */
export const traceActivities =
  (tracing: Tracing): ActivityInterceptorsFactory =>
  ({ info }) => ({
    inbound: {
      execute(input, next) {
        const { workflowId, runId } = info.workflowExecution ?? {};
        const attributes = {
          ...{ 'messaging.system': 'temporal', 'messaging.operation.name': 'activity' },
          ...{ 'messaging.operation.type': 'process', 'messaging.destination.name': info.taskQueue },
          'faretrail.attempt': info.attempt,
          ...(workflowId && runId ? { temporalWorkflowID: workflowId, temporalRunID: runId } : {}),
        };
        const caller = readTraceHeader(input.headers[traceHeader]);
        const parent = info.attempt > continuedAttempts ? undefined : caller;
        const about = { name: `activity ${info.activityType}`, kind: 'CONSUMER', attributes, parent } as const;
        return tracing.span(about, () => next(input));
      },
    },
  });

/** Hands the trace of an activity on to the runs that it starts and signals. */
export function traceMessages(tracing: Tracing): WorkflowClientInterceptor {
  const traced = <Input extends { headers: Headers }>(input: Input): Input => {
    const traceparent = tracing.current();
    if (traceparent === undefined) return input;
    return {
      ...input,
      headers: { ...input.headers, [traceHeader]: defaultPayloadConverter.toPayload({ traceparent }) },
    };
  };
  return {
    startWithDetails: (input, next) => next(traced(input)),
    signal: (input, next) => next(traced(input)),
    signalWithStart: (input, next) => next(traced(input)),
    startUpdate: (input, next) => next(traced(input)),
  };
}
