import {
  type ActivateInput,
  CancellationScope,
  log,
  type Next,
  patched,
  proxyActivities,
  type QueryInput,
  type SignalInput,
  type UpdateInput,
  type WorkflowExecuteInput,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptorsFactory,
  type WorkflowInternalsInterceptor,
  type WorkflowOutboundCallsInterceptor,
  workflowInfo,
} from '@temporalio/workflow';
import { askedAhead, InvalidInput } from '../domain/errors.js';
import { checkProgress, UndecodablePayload } from '../domain/input-fields.js';
import { leftByRunQuery } from './messages.js';
import { openActivations, refuseBadInput } from './run-kit.js';

type Inbound = WorkflowInboundCallsInterceptor;

/** Loaded with the workflows, before any of them. Each run has them, so they are classes: functions of its own would take a kilobyte. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [new RefuseAhead()],
  inbound: [new RefuseUndecodable()],
  outbound: [keepOpen],
});

/**
 * Refuses to run a workflow ahead of its task. A query that waited for a worker comes with all events until then, and the SDK (1.24.0)
 * runs the code on them. The next task then delivers an update or a signal too late: a replay delivers it first, so its commands differ
 * and the run is blocked. After a refusal the worker reloads the run for its task, and the caller repeats the query (`repeatWhenLost`).
 *
 * Only a task moves the clock of a run, so new events at an old time are ahead. A run that has ended gets no more tasks, and its last
 * events would always be ahead. So the worker answers the query that only such runs get.
 */
class RefuseAhead implements WorkflowInternalsInterceptor {
  #at = '';
  #events = 0;
  #isAhead = false;

  activate(input: ActivateInput, next: Next<WorkflowInternalsInterceptor, 'activate'>): void {
    const { timestamp, historyLength, isReplaying, jobs } = input.activation;
    const questions = jobs?.flatMap(({ queryWorkflow }) => queryWorkflow?.queryType ?? []) ?? [];
    if (questions.length === 0)
      this.#note(`${timestamp?.seconds}.${timestamp?.nanos}`, historyLength ?? 0, !isReplaying);
    else if (this.#isAhead && questions.some((question) => question !== leftByRunQuery.name))
      throw new Error(askedAhead);
    next(input);
  }

  #note(at: string, events: number, isNew: boolean): void {
    this.#isAhead ||= at === this.#at && events > this.#events && isNew;
    this.#at = at;
    this.#events = events;
  }
}

/** Asks for one more activation with each local activity, which the worker leaves open meanwhile (`src/temporal/open-activations.ts`). */
const keepOpen: WorkflowOutboundCallsInterceptor = {
  scheduleLocalActivity(input, next) {
    const result = next(input);
    if (patched(openActivations)) askForActivation();
    return result;
  },
};

const { noActivity } = proxyActivities<{ noActivity(): Promise<void> }>({ startToCloseTimeout: 1 });

/** An activity that is cancelled as soon as it is scheduled leaves no event; the SDK says in another activation that it was cancelled. */
function askForActivation(): void {
  const scope = new CancellationScope();
  scope.run(noActivity).catch(() => undefined);
  scope.cancel();
}

/**
 * Keeps undecodable payloads from every workflow and handler. A start, an update or a query fails with `InvalidInput`; the run ignores a
 * signal and goes on.
 *
 * Another worker may hold the key of an encrypted payload. So a start waits for such a worker, and history records an ignored signal.
 */
class RefuseUndecodable implements Inbound {
  #arrived: Map<string, number> | undefined;

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
    const count = this.#countArrived(signalName);
    const unread = findUnread(args);
    const pass = (): void => log.warn('a signal is ignored', { signalName, reason: unread && reasonOf(unread) });
    if (unread?.value.key === null) return Promise.resolve(pass());
    let isPassed = false;
    return unlessThrown(
      () => {
        isPassed = isIgnored(unread, `signal ${signalName} ${count} was ignored`);
      },
      () => (isPassed ? Promise.resolve(pass()) : next(input)),
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

  #countArrived(signalName: string): number {
    this.#arrived ??= new Map();
    const count = (this.#arrived.get(signalName) ?? 0) + 1;
    this.#arrived.set(signalName, count);
    return count;
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
 * Does the run ignore this signal for want of a key? A later worker with the key must not act on a signal that history records as ignored,
 * and a worker without the key must not ignore one that history acted on.
 */
function isIgnored(unread: Unread | undefined, mark: string): boolean {
  if (!workflowInfo().unsafe.isReplaying) return unread !== undefined && patched(mark);
  if (patched(mark)) return true;
  if (unread) throw waitForKey(unread);
  return false;
}
