import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import {
  type ActivityInput,
  type ContinueAsNewInput,
  log,
  type Next,
  type QueryInput,
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
import { InvalidInput } from '../domain/errors.js';
import { checkProgress, UndecodablePayload } from '../domain/input-fields.js';
import { isTraceparent, readTraceHeader, traceHeader } from '../domain/trace-context.js';
import { refuseBadInput } from './run-kit.js';
import { RefuseAhead } from './sdk-core-1146.js';

type Inbound = WorkflowInboundCallsInterceptor;
type Outbound = WorkflowOutboundCallsInterceptor;

/** Loaded with the workflows, before any of them. Each run has them, so they are classes: functions of its own would take a kilobyte. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const trace = new NewestTrace();
  return { internals: [new RefuseAhead()], inbound: [trace, new RefuseUndecodable()], outbound: [trace] };
};

/**
 * Keeps undecodable payloads from every workflow and handler. A start, an update or a query fails with `InvalidInput`; the run ignores a
 * signal and goes on. Where only the key of an encrypted payload is missing, the task waits for a worker that holds it.
 */
class RefuseUndecodable implements Inbound {
  execute(input: WorkflowExecuteInput, next: Next<Inbound, 'execute'>): Promise<unknown> {
    const [first, progress] = input.args;
    // Many languages send null for an absent argument.
    return unlessThrown(
      () => checkStart(input.args),
      () => next({ ...input, args: [first, progress ?? undefined] }),
    );
  }

  handleSignal(input: SignalInput, next: Next<Inbound, 'handleSignal'>): Promise<void> {
    const { signalName, args } = input;
    const unread = findUnread(args);
    if (unread?.value.key === null) {
      log.warn('a signal is ignored', { signalName, reason: reasonOf(unread) });
      return Promise.resolve();
    }
    return unlessThrown(
      () => checkReadable(args, 'waits for a key'),
      () => next(input),
    );
  }

  validateUpdate(input: UpdateInput, next: Next<Inbound, 'validateUpdate'>): void {
    checkReadable(input.args);
    next(input);
  }

  handleUpdate(input: UpdateInput, next: Next<Inbound, 'handleUpdate'>): Promise<unknown> {
    return unlessThrown(
      // A worker with the key has accepted the update.
      () => checkReadable(input.args, 'waits for a key'),
      () => next(input),
    );
  }

  handleQuery(input: QueryInput, next: Next<Inbound, 'handleQuery'>): Promise<unknown> {
    return unlessThrown(
      () => checkReadable(input.args),
      () => next(input),
    );
  }
}

/** Synchronous, so that it adds no turn of the event loop. */
function unlessThrown<T>(check: () => void, go: () => Promise<T>): Promise<T> {
  try {
    check();
  } catch (error) {
    return Promise.reject(error);
  }
  return go();
}

interface Unread {
  value: UndecodablePayload;
  /** The argument's name for callers. */
  name: string;
}

function findUnread(args: readonly unknown[]): Unread | undefined {
  const index = args.findIndex((arg) => arg instanceof UndecodablePayload);
  const value = args[index];
  return value instanceof UndecodablePayload ? { value, name: index === 0 ? 'input' : 'progress' } : undefined;
}

const reasonOf = ({ name, value }: Unread): string => `${name}: cannot be decoded: ${value.reason}`;

/** Fails the task and not the run: Temporal repeats the task until a worker holds the key. */
const waitForKey = (unread: Unread): Error => new Error(`${reasonOf(unread)}; a worker with the key goes on`);

function checkReadable(args: readonly unknown[], missingKey?: 'waits for a key'): void {
  const unread = findUnread(args);
  if (!unread) return;
  if (missingKey && unread.value.key === 'missing') throw waitForKey(unread);
  refuseBadInput(() => {
    throw new InvalidInput(reasonOf(unread));
  });
}

function checkStart(args: readonly unknown[]): void {
  checkReadable(args, 'waits for a key');
  const isContinued = workflowInfo().continuedFromExecutionRunId !== undefined;
  refuseBadInput(() => checkProgress(args[1], isContinued));
}

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
