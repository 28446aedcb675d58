import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { DeliveryNotice } from '../domain/delivery.js';
import type { DeliveryPort } from '../webhooks/delivery-port.js';
import type { DeliveryIntake } from '../webhooks/intake.js';
import type { Tracing } from './tracing.js';

// A delivery's trace crosses the journal and the workflow as a traceparent in plain data. The ingress ignores a traceparent that
// the service sends, since the service would decide what we record.

/** Begins a trace for each delivery at one of our addresses. The journal and the signal continue it. */
export const traceIntake = (intake: DeliveryIntake, tracing: Tracing): DeliveryIntake => ({
  ...intake,
  take(arrival, headers, rawBody) {
    const { account, eventType } = arrival;
    const attributes = { 'faretrail.account': account, 'faretrail.event_type': eventType };
    return tracing.span({ name: `delivery ${eventType}`, kind: 'server', attributes }, async (span) => {
      const answer = await intake.take({ ...arrival, traceparent: span.traceparent }, headers, rawBody);
      const { outcome, deliveryId } = answer;
      span.note({ outcome, ...(deliveryId === undefined ? {} : { 'faretrail.delivery_id': deliveryId }) });
      return answer;
    });
  },
});

/** Continues, in each signal, the trace of its newest delivery, and links the others. */
export const traceSignals = (port: DeliveryPort, tracing: Tracing): DeliveryPort => ({
  ...port,
  toOrder: (key, deliveries) =>
    tracing.span(aboutSignal('order', key.account, deliveries), async (span) => {
      const outcome = await port.toOrder(key, deliveries);
      span.note({ outcome });
      return outcome;
    }),
  toReport: (key, deliveries) =>
    tracing.span(aboutSignal('report', key.account, deliveries), () => port.toReport(key, deliveries)),
});

const aboutSignal = (to: 'order' | 'report', account: string, deliveries: readonly DeliveryNotice[]) => ({
  name: `signal ${to}`,
  kind: 'producer' as const,
  attributes: { 'faretrail.account': account, deliveries: deliveries.length },
  after: traceparentsOf(deliveries),
});

/** A bound for the size of a span. */
const maxCauses = 32;

const traceparentsOf = (deliveries: readonly DeliveryNotice[]): string[] =>
  deliveries.flatMap(({ traceparent }) => traceparent ?? []).slice(-maxCauses);

/** Makes a span of each attempt of an activity, in the trace that its input names. */
export const traceActivities =
  (tracing: Tracing): ActivityInterceptorsFactory =>
  ({ info }) => ({
    inbound: {
      execute(input, next) {
        const [first] = input.args as [{ traceparents?: string[] } | undefined];
        const { workflowId, runId } = info.workflowExecution ?? {};
        const attributes = {
          attempt: info.attempt,
          ...(workflowId && runId ? { temporalWorkflowID: workflowId, temporalRunID: runId } : {}),
        };
        const after = first?.traceparents ?? [];
        return tracing.span({ name: `activity ${info.activityType}`, kind: 'consumer', attributes, after }, () =>
          next(input),
        );
      },
    },
  });
