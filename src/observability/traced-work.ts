import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { DeliveryNotice } from '../domain/delivery.js';
import { readTraceHeader, traceHeader } from '../domain/trace-context.js';
import type { DeliveryPort } from '../webhooks/delivery-port.js';
import type { Tracing } from './tracing.js';

// A delivery's trace crosses the journal and the workflow as a traceparent in plain data, a caller's in a header of Temporal's messages.
// Attributes are those of the semantic conventions of OpenTelemetry for messaging, where they have one.

/** Continues, in each signal, the trace of its newest delivery, and links the others. */
export const traceSignals = (port: DeliveryPort, tracing: Tracing): DeliveryPort => ({
  ...port,
  toOrder: (key, deliveries) =>
    tracing.span(aboutSignal('order', key.account, deliveries), async (span) => {
      const outcome = await port.toOrder(key, deliveries);
      span.note({ 'faretrail.outcome': outcome });
      return outcome;
    }),
  toReport: (key, deliveries) =>
    tracing.span(aboutSignal('report', key.account, deliveries), () => port.toReport(key, deliveries)),
});

const aboutSignal = (to: 'order' | 'report', account: string, deliveries: readonly DeliveryNotice[]) => ({
  name: `signal ${to}`,
  kind: 'producer' as const,
  attributes: {
    ...{ 'messaging.system': 'temporal', 'messaging.operation.name': 'signal', 'messaging.operation.type': 'send' },
    ...{ 'messaging.destination.name': to, 'messaging.batch.message_count': deliveries.length },
    'faretrail.account': account,
  },
  after: traceparentsOf(deliveries),
});

/** A bound for the size of a span. */
const maxCauses = 32;

const traceparentsOf = (deliveries: readonly DeliveryNotice[]): string[] =>
  deliveries.flatMap(({ traceparent }) => traceparent ?? []).slice(-maxCauses);

/** A read of an order in trouble has an attempt each minute, for days: no trace should hold them all. */
const continuedAttempts = 100;

/** Makes a span of each attempt of an activity, in the trace of the deliveries that its input names, or else of the caller of its run. */
export const traceActivities =
  (tracing: Tracing): ActivityInterceptorsFactory =>
  ({ info }) => ({
    inbound: {
      execute(input, next) {
        const [first] = input.args as [{ traceparents?: string[] } | undefined];
        const { workflowId, runId } = info.workflowExecution ?? {};
        const attributes = {
          ...{ 'messaging.system': 'temporal', 'messaging.operation.name': 'activity' },
          ...{ 'messaging.operation.type': 'process', 'messaging.destination.name': info.taskQueue },
          'faretrail.attempt': info.attempt,
          ...(workflowId && runId ? { temporalWorkflowID: workflowId, temporalRunID: runId } : {}),
        };
        const caller = readTraceHeader(input.headers[traceHeader])?.traceparent;
        const causes = [...(caller ? [caller] : []), ...(first?.traceparents ?? [])];
        const related = info.attempt > continuedAttempts ? { links: causes } : { after: causes };
        return tracing.span({ name: `activity ${info.activityType}`, kind: 'consumer', attributes, ...related }, () =>
          next(input),
        );
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
