import type { WorkflowClientInterceptor } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { readTraceHeader, traceHeader } from '../domain/trace-context.js';
import type { DeliveryPort } from '../webhooks/delivery-port.js';
import type { Tracing } from './tracing.js';

// A delivery's trace crosses the journal and the signal as a traceparent in plain data, all others in a header of Temporal's messages.
// Attributes are those of the semantic conventions of OpenTelemetry for messaging, where they have one.

/** Continues, in each signal, the trace of its newest delivery. */
export const traceSignals = <Port extends Pick<DeliveryPort, 'toRun'>>(port: Port, tracing: Tracing): Port => ({
  ...port,
  toRun: (about, deliveries) => {
    const to = about.eventType === 'business_report' ? 'report' : 'order';
    const attributes = {
      ...{ 'messaging.system': 'temporal', 'messaging.operation.name': 'signal', 'messaging.operation.type': 'send' },
      ...{ 'messaging.destination.name': to, 'messaging.batch.message_count': deliveries.length },
      'faretrail.account': about.account,
    };
    const parent = deliveries.at(-1)?.traceparent;
    return tracing.span({ name: `signal ${to}`, kind: 'producer', attributes, parent }, async (span) => {
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
        const about = { name: `activity ${info.activityType}`, kind: 'consumer', attributes, parent } as const;
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
