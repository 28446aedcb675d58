import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import type {
  ActivityInput,
  ContinueAsNewInput,
  Next,
  SignalInput,
  SignalWorkflowInput,
  StartChildWorkflowExecutionInput,
  UpdateInput,
  WorkflowExecuteInput,
  WorkflowInboundCallsInterceptor,
  WorkflowInterceptorsFactory,
  WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow';
import type { OrderActivities } from '../activities/order.js';
import { readTraceHeader, type TraceData, toTraceData, traceHeader } from '../domain/trace-context.js';
import { noticeGivenSignal } from './messages.js';

/** Loaded with the workflows, before any of them. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const traces = [new CallerTrace()];
  return { inbound: traces, outbound: traces };
};

/** The run tells its receivers what the last read has found. */
const read: keyof OrderActivities = 'readOrder';

type Inbound = WorkflowInboundCallsInterceptor;
type Outbound = WorkflowOutboundCallsInterceptor;

/**
 * Hands a caller's trace on to what the run does. The trace of the newest start, signal or update that brings one holds until another
 * message brings one. It changes no command but its headers, which a replay does not compare, and adds no turn of the event loop.
 *
 * A class, since each run has one: functions of its own would take a kilobyte.
 */
class CallerTrace implements Inbound, Outbound {
  #caller: TraceData | undefined;
  /** Of the newest delivery that the last read answered. A read after a poll has none. */
  #delivery: TraceData | undefined;

  execute(input: WorkflowExecuteInput, next: Next<Inbound, 'execute'>) {
    this.#take(input);
    return next(input);
  }

  handleSignal(input: SignalInput, next: Next<Inbound, 'handleSignal'>) {
    // Each notice comes with the trace of its cause, or with none.
    if (input.signalName === noticeGivenSignal.name) this.#caller = undefined;
    this.#take(input);
    return next(input);
  }

  handleUpdate(input: UpdateInput, next: Next<Inbound, 'handleUpdate'>) {
    this.#take(input);
    return next(input);
  }

  scheduleActivity(input: ActivityInput, next: Next<Outbound, 'scheduleActivity'>) {
    return this.#afterRead(input, next(withHeader(input, this.#caller)));
  }

  signalWorkflow(input: SignalWorkflowInput, next: Next<Outbound, 'signalWorkflow'>) {
    return next(withHeader(input, this.#noticed()));
  }

  /** That of its notices. */
  startChildWorkflowExecution(
    input: StartChildWorkflowExecutionInput,
    next: Next<Outbound, 'startChildWorkflowExecution'>,
  ) {
    return next(withHeader(input, this.#noticed()));
  }

  continueAsNew(input: ContinueAsNewInput, next: Next<Outbound, 'continueAsNew'>) {
    return next(withHeader(input, this.#caller));
  }

  #take({ headers }: { headers: Headers }): void {
    this.#caller = readTraceHeader(headers[traceHeader]) ?? this.#caller;
  }

  #noticed(): TraceData | undefined {
    return this.#delivery ?? this.#caller;
  }

  #afterRead<T>({ activityType, args }: { activityType: string; args: unknown[] }, result: Promise<T>): Promise<T> {
    if (activityType !== read) return result;
    const [asked] = args as [{ traceparents?: string[] } | undefined];
    const settle = (): void => {
      this.#delivery = toTraceData(asked?.traceparents?.at(-1));
    };
    // A cancelled read is no reason to forget.
    void result.then(settle, () => undefined);
    return result;
  }
}

const withHeader = <Input extends { headers: Headers }>(input: Input, trace: TraceData | undefined): Input =>
  trace ? { ...input, headers: { ...input.headers, [traceHeader]: defaultPayloadConverter.toPayload(trace) } } : input;
