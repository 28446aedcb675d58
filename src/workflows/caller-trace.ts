import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type {
  WorkflowInboundCallsInterceptor,
  WorkflowInterceptorsFactory,
  WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow';
import type { NotifyActivities } from '../activities/notify.js';
import type { OrderActivities } from '../activities/order.js';
import type { ReadAtOnceActivities } from '../activities/reads-at-once.js';
import { readTraceHeader, type TraceData, toTraceData, traceHeader } from '../domain/trace-context.js';

/**
 * Hands a caller's trace on to what the run does. Loaded with the workflows, before any of them.
 *
 * The trace of the newest start, signal or update that brings one holds until another message brings one. It changes no command
 * but its headers, which a replay does not compare, and adds no turn of the event loop.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const traces = followTraces();
  return { inbound: [takeTraces(traces)], outbound: [handTracesOn(traces)] };
};

/** What led to the next activity. */
interface Traces {
  caller: TraceData | undefined;
  /** Of the newest delivery that the last read answered. A change that a poll finds has none. */
  delivery: TraceData | undefined;
}

const followTraces = (): Traces => ({ caller: undefined, delivery: undefined });

function takeTraces(traces: Traces): WorkflowInboundCallsInterceptor {
  const take = ({ headers }: { headers: Headers }): void => {
    traces.caller = readTraceHeader(headers[traceHeader]) ?? traces.caller;
  };
  return {
    execute(input, next) {
      take(input);
      return next(input);
    },
    handleSignal(input, next) {
      take(input);
      return next(input);
    },
    handleUpdate(input, next) {
      take(input);
      return next(input);
    },
  };
}

/** Activities that look at an order. The run tells its receivers what the last of them has found. */
const looks: readonly string[] = ['observeOrder', 'readOrder', 'readOrderAtOnce'] satisfies (keyof (OrderActivities &
  ReadAtOnceActivities))[];
const notice: keyof NotifyActivities = 'notifyUrl';

function handTracesOn(traces: Traces): WorkflowOutboundCallsInterceptor {
  const noticed = (): TraceData | undefined => traces.delivery ?? traces.caller;
  function afterLook<T>(
    { activityType, args }: { activityType: string; args: unknown[] },
    result: Promise<T>,
  ): Promise<T> {
    if (!looks.includes(activityType)) return result;
    const [asked] = args as [{ traceparents?: string[] } | undefined];
    const settle = (): void => {
      traces.delivery = toTraceData(asked?.traceparents?.at(-1));
    };
    // A cancelled look is no reason to forget.
    void result.then(settle, () => undefined);
    return result;
  }
  return {
    scheduleActivity(input, next) {
      const trace = input.activityType === notice ? noticed() : traces.caller;
      return afterLook(input, next(withHeader(input, trace)));
    },
    scheduleLocalActivity: (input, next) => afterLook(input, next(withHeader(input, traces.caller))),
    signalWorkflow: (input, next) => next(withHeader(input, noticed())),
    startChildWorkflowExecution: (input, next) => next(withHeader(input, traces.caller)),
    continueAsNew: (input, next) => next(withHeader(input, traces.caller)),
  };
}

const withHeader = <Input extends { headers: Headers }>(input: Input, trace: TraceData | undefined): Input =>
  trace ? { ...input, headers: { ...input.headers, [traceHeader]: defaultPayloadConverter.toPayload(trace) } } : input;
