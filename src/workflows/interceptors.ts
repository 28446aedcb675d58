import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import {
  type ActivityInput,
  type ContinueAsNewInput,
  type Next,
  type SignalInput,
  type SignalWorkflowInput,
  type StartChildWorkflowExecutionInput,
  type UpdateInput,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptorsFactory,
  type WorkflowOutboundCallsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';
import { checkProgress } from '../domain/input-fields.js';
import { isTraceparent, readTraceHeader, traceHeader } from '../domain/trace-context.js';
import { refuseBadInput } from './run-kit.js';
import { RefuseAhead } from './sdk-core-1146.js';
import { settling } from './settling.js';

type Inbound = WorkflowInboundCallsInterceptor;
type Outbound = WorkflowOutboundCallsInterceptor;

/** Loaded with the workflows, before any of them. Each run has them, so they are classes: functions of its own would take a kilobyte. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const trace = new NewestTrace();
  return {
    internals: [new RefuseAhead()],
    inbound: [trace, settling, checkedStart],
    outbound: [trace, settling],
  };
};

/** Fails a run with a second argument that only our own runs may have. */
const checkedStart: Inbound = {
  execute(input, next) {
    const [first, progress] = input.args;
    try {
      refuseBadInput(() => checkProgress(progress, workflowInfo().continuedFromExecutionRunId !== undefined));
    } catch (error) {
      return Promise.reject(error); // an async function would add turns of the event loop
    }
    // Many languages send null for an absent argument.
    return next({ ...input, args: [first, progress ?? undefined] });
  },
};

/**
 * Hands a trace on to all that the run does: that of the newest start, signal or update that brought one. A caller brings it in a header, a
 * delivery in the notice of it. It changes no command but its headers, which a replay does not compare, and adds no turn of the event loop.
 */
class NewestTrace implements Inbound, Outbound {
  #newest: string | undefined;

  execute(input: WorkflowExecuteInput, next: Next<Inbound, 'execute'>) {
    this.#take(input);
    return next(input);
  }

  handleSignal(input: SignalInput, next: Next<Inbound, 'handleSignal'>) {
    this.#take(input);
    this.#newest = deliveryTrace(input.args) ?? this.#newest;
    return next(input);
  }

  handleUpdate(input: UpdateInput, next: Next<Inbound, 'handleUpdate'>) {
    this.#take(input);
    return next(input);
  }

  scheduleActivity(input: ActivityInput, next: Next<Outbound, 'scheduleActivity'>) {
    return next(this.#traced(input));
  }

  signalWorkflow(input: SignalWorkflowInput, next: Next<Outbound, 'signalWorkflow'>) {
    return next(this.#traced(input));
  }

  startChildWorkflowExecution(
    input: StartChildWorkflowExecutionInput,
    next: Next<Outbound, 'startChildWorkflowExecution'>,
  ) {
    return next(this.#traced(input));
  }

  continueAsNew(input: ContinueAsNewInput, next: Next<Outbound, 'continueAsNew'>) {
    return next(this.#traced(input));
  }

  #take({ headers }: { headers: Headers }): void {
    this.#newest = readTraceHeader(headers[traceHeader]) ?? this.#newest;
  }

  #traced<Input extends { headers: Headers }>(input: Input): Input {
    if (this.#newest === undefined) return input;
    const header = defaultPayloadConverter.toPayload({ traceparent: this.#newest });
    return { ...input, headers: { ...input.headers, [traceHeader]: header } };
  }
}

/** Of the newest delivery in a signal, which any program may send. */
function deliveryTrace([content]: unknown[]): string | undefined {
  const { deliveries } = (content ?? {}) as { deliveries?: unknown };
  const last: { traceparent?: unknown } | null = Array.isArray(deliveries) ? deliveries.at(-1) : null;
  return isTraceparent(last?.traceparent) ? last.traceparent : undefined;
}
