import { AsyncLocalStorage } from 'node:async_hooks';
import {
  ApplicationFailure,
  arrayFromPayloads,
  ensureTemporalFailure,
  type Headers,
  mapFromPayloads,
  type ProtoFailure,
  type SearchAttributePair,
  TemporalFailure,
  TypedSearchAttributes,
  WorkflowExecutionAlreadyStartedError,
} from '@temporalio/common';
import type { WorkflowInfo, WorkflowInterceptors, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { searchAttributeTypes } from '../../../src/domain/search-attribute-names.js';
import { payloadConverter } from '../../../src/sealing/payload-converter.js';
import { failureConverter } from '../../../src/sealing/plain-failures.js';
import type { Command, DoUpdate, InitializeWorkflow, Job, Resolution, SignalWorkflow } from './activation.js';
import { alea } from './random.js';
import { CancellationScope, isCancellation } from './scopes.js';

/** Workflow code of one version. */
export interface Code {
  workflows: Record<string, unknown>;
  interceptors: WorkflowInterceptorsFactory;
}

/** `continueAsNew` throws this. */
export class ContinueAsNew extends Error {
  readonly command: Record<string, unknown>;

  constructor(command: Record<string, unknown>) {
    super('Workflow continued as new');
    this.command = command;
  }
}

export interface Completion {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** What a run can wait for. Each kind is numbered separately. */
export type Awaited = 'timer' | 'activity' | 'signalWorkflow' | 'childWorkflowStart' | 'childWorkflowComplete';

type Handler = (...args: unknown[]) => unknown;

interface UpdateHandler {
  handler: Handler;
  validator: ((...args: unknown[]) => void) | undefined;
}

const errorOf = (failure: ProtoFailure): Error => failureConverter.failureToError(failure, payloadConverter);
const failureOf = (error: unknown): ProtoFailure =>
  failureConverter.errorToFailure(ensureTemporalFailure(error), payloadConverter);
const valuesOf = (payloads: Parameters<typeof arrayFromPayloads>[1]): unknown[] =>
  arrayFromPayloads(payloadConverter, payloads);

/** The update whose handler is running. */
export const updates = new AsyncLocalStorage<{ id: string; name: string }>();

/** A cached run: what the SDK's activator does. */
export class Run {
  info: WorkflowInfo;
  readonly commands: Command[] = [];
  readonly waiting: Record<Awaited, Map<number, Completion>> = {
    timer: new Map(),
    activity: new Map(),
    signalWorkflow: new Map(),
    childWorkflowStart: new Map(),
    childWorkflowComplete: new Map(),
  };
  readonly nextSeq = { timer: 1, activity: 1, signalWorkflow: 1, childWorkflow: 1, condition: 1 };
  readonly conditions = new Map<number, { fn: () => boolean; resolve: () => void }>();
  readonly signalHandlers = new Map<string, Handler>();
  readonly updateHandlers = new Map<string, UpdateHandler>();
  readonly queryHandlers = new Map<string, Handler>();
  readonly interceptors: { [Kind in keyof WorkflowInterceptors]-?: NonNullable<WorkflowInterceptors[Kind]> };
  readonly rootScope = new CancellationScope({ parent: null });
  /** The global variables of this run. */
  readonly globals: Record<string, unknown> = {};
  readonly running = new Set<object>();
  readonly patches = { present: new Set<string>(), decided: new Map<string, boolean>() };
  random: () => number;
  details = '';
  /** The time of the current task, which is the time that the run sees. */
  taskMs = 0;
  taskError: unknown;
  #bufferedSignals: SignalWorkflow[] = [];
  #bufferedUpdates: DoUpdate[] = [];
  #isCancelled = false;
  readonly #workflow: (...args: unknown[]) => Promise<unknown>;

  constructor(runId: string, started: InitializeWorkflow, code: Code) {
    this.info = infoOf(runId, started);
    this.random = alea(started.randomnessSeed);
    const { inbound = [], outbound = [], internals = [] } = code.interceptors();
    this.interceptors = { inbound, outbound, internals };
    const workflow = code.workflows[started.workflowType];
    if (typeof workflow !== 'function') throw new TypeError(`no workflow of type ${started.workflowType}`);
    this.#workflow = workflow as (...args: unknown[]) => Promise<unknown>;
  }

  readonly push = (command: Command): void => {
    this.commands.push(command);
  };

  /** Handles one job. The workflow function itself starts after all other jobs of the first task. */
  handle(job: Job): void {
    if (job.notifyHasPatch) this.patches.present.add(job.notifyHasPatch.patchId);
    if (job.updateRandomSeed) this.random = alea(job.updateRandomSeed.randomnessSeed);
    if (job.signalWorkflow) this.#signal(job.signalWorkflow);
    if (job.doUpdate) this.#update(job.doUpdate);
    if (job.cancelWorkflow) this.#cancel();
    // The timer may have been cancelled in the meantime.
    if (job.fireTimer) this.#take('timer', job.fireTimer.seq)?.resolve(undefined);
    if (job.resolveActivity) this.#resolve('activity', job.resolveActivity);
    if (job.resolveSignalExternalWorkflow) {
      const { seq, failure } = job.resolveSignalExternalWorkflow;
      const one = this.#waiting('signalWorkflow', seq);
      if (failure) one.reject(errorOf(failure));
      else one.resolve(undefined);
    }
    if (job.resolveChildWorkflowExecutionStart) this.#childStarted(job.resolveChildWorkflowExecutionStart);
    if (job.resolveChildWorkflowExecution) this.#resolve('childWorkflowComplete', job.resolveChildWorkflowExecution);
  }

  start({ arguments: args, headers }: InitializeWorkflow): void {
    const execute = composed(this.interceptors.inbound, 'execute', async (input: { args: unknown[] }) => {
      return await this.#workflow(...input.args);
    });
    // The SDK logs the result first, which takes one more microtask.
    const logged = execute({ args: valuesOf(args), headers }).then(
      (result) => result,
      (error: unknown) => {
        throw error;
      },
    );
    logged.then(
      (result) => this.push({ completeWorkflowExecution: { result: payloadConverter.toPayload(result) } }),
      (error: unknown) => this.#failed(error),
    );
  }

  /** Resolves all conditions that hold. Returns their number. */
  unblock(): number {
    let unblocked = 0;
    for (;;) {
      if (this.taskError !== undefined) throw this.taskError;
      const before = unblocked;
      for (const [seq, { fn, resolve }] of this.conditions) {
        if (!fn()) continue;
        resolve();
        unblocked += 1;
        this.conditions.delete(seq);
      }
      if (unblocked === before) return unblocked;
    }
  }

  dispatchSignals(): void {
    const known = this.#bufferedSignals.filter(({ signalName }) => this.signalHandlers.has(signalName));
    this.#bufferedSignals = this.#bufferedSignals.filter((one) => !known.includes(one));
    for (const one of known) this.#signal(one);
  }

  dispatchUpdates(): void {
    const known = this.#bufferedUpdates.filter(({ name }) => this.updateHandlers.has(name));
    this.#bufferedUpdates = this.#bufferedUpdates.filter((one) => !known.includes(one));
    for (const one of known) this.#update(one);
  }

  rejectBufferedUpdates(): void {
    for (const { protocolInstanceId, name } of this.#bufferedUpdates.splice(0))
      this.#refuse(protocolInstanceId, ApplicationFailure.nonRetryable(`No registered handler for update: ${name}`));
  }

  #signal(signal: SignalWorkflow): void {
    const { signalName, input, headers } = signal;
    if (!this.signalHandlers.has(signalName)) {
      this.#bufferedSignals.push(signal);
      return;
    }
    const handle = composed(this.interceptors.inbound, 'handleSignal', async ({ args }: { args: unknown[] }) => {
      return await this.signalHandlers.get(signalName)?.(...args);
    });
    const me = {};
    this.running.add(me);
    handle({ signalName, args: valuesOf(input), headers })
      .catch((error: unknown) => this.#failed(error))
      .finally(() => this.running.delete(me));
  }

  #update(update: DoUpdate): void {
    const { id, name } = update;
    const entry = this.updateHandlers.get(name);
    if (!entry) {
      this.#bufferedUpdates.push(update);
      return;
    }
    void updates.run({ id, name }, () => this.#doUpdate(update, entry));
  }

  async #doUpdate(update: DoUpdate, { handler, validator }: UpdateHandler): Promise<void> {
    const { id, name, protocolInstanceId, runValidator } = update;
    const input = () => ({ updateId: id, name, args: valuesOf(update.input), headers: update.headers });
    let given: ReturnType<typeof input>;
    try {
      if (runValidator && validator)
        composed(this.interceptors.inbound, 'validateUpdate', ({ args }: { args: unknown[] }) => validator(...args))(
          input(),
        );
      given = input();
    } catch (error) {
      this.#refuse(protocolInstanceId, error);
      return;
    }
    this.push({ updateResponse: { protocolInstanceId, accepted: {} } });
    const me = {};
    this.running.add(me);
    const handle = composed(
      this.interceptors.inbound,
      'handleUpdate',
      async ({ args }: { args: unknown[] }) => await handler(...args),
    );
    const answered = handle(given)
      .then((result) =>
        this.push({ updateResponse: { protocolInstanceId, completed: payloadConverter.toPayload(result) } }),
      )
      .catch((error: unknown) => {
        if (error instanceof TemporalFailure) this.#refuse(protocolInstanceId, error);
        else this.#failed(error);
      })
      .finally(() => this.running.delete(me));
    await answered;
  }

  #refuse(protocolInstanceId: string, error: unknown): void {
    this.push({ updateResponse: { protocolInstanceId, rejected: failureOf(error) } });
  }

  #cancel(): void {
    this.#isCancelled = true;
    this.rootScope.cancel('Workflow cancelled');
  }

  #resolve(kind: Awaited, { seq, result }: { seq: number; result: Resolution }): void {
    const one = this.#waiting(kind, seq);
    if ('completed' in result)
      one.resolve(result.completed.result ? payloadConverter.fromPayload(result.completed.result) : undefined);
    else one.reject(errorOf('failed' in result ? result.failed.failure : result.cancelled.failure));
  }

  #childStarted({ seq, succeeded, failed }: NonNullable<Job['resolveChildWorkflowExecutionStart']>): void {
    const one = this.#waiting('childWorkflowStart', seq);
    if (succeeded) {
      one.resolve(succeeded.runId);
      return;
    }
    const { workflowId = '', workflowType = '' } = failed ?? {};
    one.reject(
      new WorkflowExecutionAlreadyStartedError('Workflow execution already started', workflowId, workflowType),
    );
    this.waiting.childWorkflowComplete.delete(seq);
  }

  #take(kind: Awaited, seq: number): Completion | undefined {
    const one = this.waiting[kind].get(seq);
    this.waiting[kind].delete(seq);
    return one;
  }

  #waiting(kind: Awaited, seq: number): Completion {
    const one = this.#take(kind, seq);
    if (!one) throw new Error(`the run does not wait for ${kind} ${seq}`);
    return one;
  }

  /** Handles an error of the workflow function or of a handler: it closes the run or fails the task. */
  #failed(error: unknown): void {
    if (this.#isCancelled && isCancellation(error)) this.push({ cancelWorkflowExecution: {} });
    else if (error instanceof ContinueAsNew) this.push({ continueAsNewWorkflowExecution: error.command });
    else if (error instanceof TemporalFailure) {
      this.running.clear();
      this.push({ failWorkflowExecution: { failure: failureOf(error) } });
    } else this.taskError ??= error;
  }
}

const types: Readonly<Record<string, string>> = searchAttributeTypes;

function infoOf(runId: string, started: InitializeWorkflow): WorkflowInfo {
  const { workflowId, workflowType, startedAtMs, continuedFromExecutionRunId, taskQueue } = started;
  const pairs = Object.entries(valuesByName(started.searchAttributes)).flatMap(
    ([name, value]): SearchAttributePair[] => {
      if (typeof value !== 'string') return [];
      if (types[name] === 'Datetime') return [{ key: { name, type: 'DATETIME' }, value: new Date(value) }];
      return [{ key: { name, type: 'KEYWORD' }, value }];
    },
  );
  const info = {
    workflowId,
    workflowType,
    runId,
    firstExecutionRunId: started.firstExecutionRunId,
    originalExecutionRunId: started.originalExecutionRunId,
    taskQueue,
    namespace: 'default',
    ...(continuedFromExecutionRunId ? { continuedFromExecutionRunId } : {}),
    startTime: new Date(startedAtMs),
    memo: valuesByName(started.memo),
    typedSearchAttributes: new TypedSearchAttributes(pairs),
    historyLength: 0,
    continueAsNewSuggested: false,
    targetWorkerDeploymentVersionChanged: false, // its workers have no versions
    unsafe: { isReplaying: false },
  };
  return info as unknown as WorkflowInfo; // only the fields that our workflows read
}

const valuesByName = (payloads: Parameters<typeof mapFromPayloads>[1]): Record<string, unknown> =>
  mapFromPayloads(payloadConverter, payloads) ?? {};

/** Chains the interceptors; the first one is outermost. */
export function composed<Input, Output>(
  interceptors: object[],
  method: string,
  last: (input: Input) => Output,
): (input: Input & { headers?: Headers } & Record<string, unknown>) => Output {
  return interceptors.reduceRight<(input: Input) => Output>((next, interceptor) => {
    const own = (interceptor as Record<string, unknown>)[method];
    return typeof own === 'function' ? (input) => own.call(interceptor, input, next) : next;
  }, last);
}
