import type { Info } from '@temporalio/activity';
import {
  ApplicationFailure,
  arrayFromPayloads,
  CancelledFailure,
  CompleteAsyncError,
  ensureTemporalFailure,
  type ProtoFailure,
} from '@temporalio/common';
import { payloadConverter } from '../../../src/sealing/payload-converter.js';
import { failureConverter } from '../../../src/sealing/plain-failures.js';
import type { Process } from '../clock/process.js';
import type { Command } from '../sdk/activation.js';
import { Core, pastTask } from '../sdk/core.js';
import { attributesOf, type Event, tasksOf } from '../sdk/history.js';
import type { Code } from '../sdk/run.js';
import { ask } from '../sdk/turn.js';
import { completeActivity, failActivity, heartbeat, reportCancelled } from '../server/activities.js';
import { completeTask, failTask } from '../server/completion.js';
import type { Execution, StartedActivity, StartedTask } from '../server/execution.js';
import type { Worker } from '../server/matching.js';
import type { Namespace } from '../server/namespace.js';
import { type Attempt, attempts } from './activity.js';
import { differenceOf } from './comparison.js';

export type ActivityFunctions = Record<string, (...args: never[]) => Promise<unknown>>;

interface Cached {
  core: Core;
  /** The last event that the run has processed. */
  seenId: number;
}

export interface WorkerParts {
  namespace: Namespace;
  process: Process;
  code: Code;
  /** By task queue. */
  activities: Record<string, ActivityFunctions>;
  /** Milliseconds until a message of the worker reaches the server. */
  latencyMs: (what: 'workflowTask' | 'activity') => number;
  maxCachedRuns: number;
  /** Called for failed workflow tasks, and for runs that do not repeat what their history says. */
  onProblem: (problem: string) => void;
}

/** A worker process. Like the SDK's workers it caches runs, and rebuilds others from their history. */
export class SimulatedWorker implements Worker {
  readonly identity: string;
  readonly #parts: WorkerParts;
  readonly #cache = new Map<string, Cached>();
  /** The runs whose task is under way, each with the task that waits for its end. */
  readonly #next = new Map<string, StartedTask | null>();
  readonly #attempts = new Set<Attempt>();

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.identity = parts.process.name;
  }

  /** `workflowQueue`: null for a worker without workflows. `queues`: where it takes activities. */
  start(workflowQueue: string | null, queues: readonly string[] = Object.keys(this.#parts.activities)): void {
    const { namespace } = this.#parts;
    if (workflowQueue !== null) namespace.matching.poll('workflow', workflowQueue, this);
    for (const queue of queues) namespace.matching.poll('activity', queue, this);
  }

  /** Shuts down in order: finishes what it has, and takes no new tasks. */
  leave(): void {
    this.#parts.namespace.matching.signOff(this);
  }

  /** Dies at once. */
  kill(): void {
    this.#parts.process.kill();
    this.#parts.namespace.matching.lose(this);
    this.#cache.clear();
  }

  get isConnected(): boolean {
    return this.#parts.process.isConnected;
  }

  /** Sends a message to the server; while the process does not reach it, once it does. */
  #send(what: 'workflowTask' | 'activity', act: () => void): void {
    const { process, latencyMs } = this.#parts;
    process.after(latencyMs(what), () => process.send(act));
  }

  takeWorkflowTask(task: StartedTask): void {
    const { runId } = task.execution;
    // As in the SDK, a run's next task waits until the server has the answer to the one before.
    if (this.#next.has(runId)) {
      this.#next.set(runId, task);
      return;
    }
    this.#next.set(runId, null);
    // As a separate event, because only one run at a time may use the thread.
    this.#parts.namespace.scheduler.after(0, () => this.#whenAwake(() => this.#do(task)));
  }

  /** The server has the answer to the task of this run. */
  #doNext(runId: string): void {
    const next = this.#next.get(runId);
    this.#next.delete(runId);
    if (next) this.takeWorkflowTask(next);
  }

  async #whenAwake(act: () => Promise<void>): Promise<void> {
    const { process, namespace } = this.#parts;
    if (!process.isAlive) return;
    if (process.isPaused) process.go(() => namespace.scheduler.after(0, () => this.#whenAwake(act)));
    else await act();
  }

  async #do(task: StartedTask): Promise<void> {
    const { namespace, onProblem } = this.#parts;
    const { execution } = task;
    let commands: Command[];
    try {
      const cached = this.#cachedFor(task) ?? (await this.#rebuild(execution, task.events));
      this.#remember(execution.runId, cached);
      const news = task.events.slice(cached.seenId);
      cached.seenId = task.writtenId;
      const updates = task.updates.map(({ id, name, input, headers, protocolInstanceId }) => ({
        id,
        name,
        input,
        headers,
        protocolInstanceId,
        runValidator: true,
      }));
      const { startedMs, startedId: historyLength, continueAsNewSuggested } = task;
      const about = { startedMs, historyLength, continueAsNewSuggested, isReplaying: false };
      ({ commands } = await cached.core.take({ news, updates, patches: [], ...about }));
    } catch (error) {
      this.#cache.delete(execution.runId);
      onProblem(`a task of ${execution.workflowId} failed: ${(error as Error)?.stack ?? error}`);
      // Like the SDK, it reports only the first failure. Further attempts time out, so they are seconds apart.
      if (execution.attempt === 1) failTask(namespace, task, failureOf(error));
      this.#doNext(execution.runId);
      return;
    }
    this.#send('workflowTask', () => {
      const isTaken = completeTask(namespace, task, this, commands);
      if (!isTaken || execution.sticky !== this || !execution.isOpen) this.#cache.delete(execution.runId);
      this.#doNext(execution.runId);
    });
  }

  /** Undefined: the run is not cached, or another worker has carried out its last task. */
  #cachedFor({ execution, events }: StartedTask): Cached | undefined {
    const cached = this.#cache.get(execution.runId);
    if (!cached) return undefined;
    const isDone = (event: Event): boolean => attributesOf(event, 'workflowTaskCompleted') !== undefined;
    return events.slice(cached.seenId).filter(isDone).length > 1 ? undefined : cached;
  }

  /** Evicts the least recently used runs. */
  #remember(runId: string, cached: Cached): void {
    this.#cache.delete(runId);
    this.#cache.set(runId, cached);
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= this.#parts.maxCachedRuns) break;
      this.#cache.delete(oldest);
    }
  }

  /** Replays the history, and compares the commands with it. */
  async #rebuild({ workflowId, runId }: Execution, events: readonly Event[]): Promise<Cached> {
    const { code, namespace, onProblem } = this.#parts;
    const [started] = events;
    if (!started) throw new TypeError('an empty history');
    const core = new Core(started, code, runId);
    const { past } = tasksOf(events);
    for (const task of past) {
      const { commands } = await core.take(pastTask(task));
      core.note(task.done);
      const difference = differenceOf(commands, task);
      if (difference) onProblem(`nondeterminism: ${workflowId} at event ${task.started.eventId}: ${difference}`);
    }
    if (past.length > 0) namespace.count('rebuilt');
    const last = past.at(-1);
    return { core, seenId: last ? Number(last.started.eventId) + 1 + last.done.length : 0 };
  }

  /** Rejects with what the query handler throws. */
  query(execution: Execution, name: string, args: unknown[]): Promise<unknown> {
    const { namespace } = this.#parts;
    return new Promise((resolve, reject) => {
      namespace.scheduler.after(0, () =>
        this.#whenAwake(async () => {
          try {
            const { core } = this.#cache.get(execution.runId) ?? (await this.#rebuild(execution, execution.events));
            resolve(ask(core.run, name, args));
          } catch (error) {
            reject(error as Error);
          }
        }),
      );
    });
  }

  takeActivity(started: StartedActivity): void {
    const { process } = this.#parts;
    process.after(1, () => void this.#attempt(started));
  }

  async #attempt(started: StartedActivity): Promise<void> {
    const { namespace, activities } = this.#parts;
    const { activity } = started;
    const attempt = this.#attemptOf(started);
    this.#attempts.add(attempt);
    const report = (say: () => void): void => this.#send('activity', say);
    try {
      const run = activities[activity.taskQueue]?.[activity.activityType];
      if (!run) throw new Error(`no activity ${activity.activityType} on ${activity.taskQueue}`);
      const args = arrayFromPayloads(payloadConverter, activity.arguments) as never[];
      const result = await attempts.run(attempt, () => run(...args));
      const payload = payloadConverter.toPayload(result);
      report(() => completeActivity(namespace, started, payload));
    } catch (error) {
      if (error instanceof CompleteAsyncError) return;
      const { details } = attempt;
      const isCancelled = error instanceof CancelledFailure && details !== undefined;
      if (isCancelled && !details.reset && !details.paused) report(() => reportCancelled(namespace, started));
      else
        report(() => {
          attempt.flush();
          failActivity(namespace, started, failureOf(isCancelled ? endedByOperator(details) : error));
        });
    } finally {
      this.#attempts.delete(attempt);
    }
  }

  #attemptOf(started: StartedActivity): Attempt {
    const { namespace, process } = this.#parts;
    const { activity } = started;
    const { heartbeatMs } = activity;
    let sentAt = Number.NEGATIVE_INFINITY;
    let next: unknown;
    let hasBeaten = false;
    let isWaiting = false;
    const send = (): void => {
      sentAt = process.monotonicMs;
      isWaiting = false;
      const details = [payloadConverter.toPayload(next)];
      this.#send('activity', () => {
        const { notFound = false, cancelRequested = false, ...answer } = heartbeat(namespace, started, details);
        const { paused = false, reset = false } = answer;
        const mustEnd = notFound || cancelRequested || paused || reset;
        if (!mustEnd || attempt.controller.signal.aborted) return;
        attempt.details = { notFound, cancelRequested, paused, reset };
        attempt.controller.abort(new CancelledFailure('CANCELLED'));
      });
    };
    const throttleMs = Math.min(60_000, 0.8 * (heartbeatMs ?? 60_000));
    const attempt: Attempt = {
      info: infoOf(started),
      controller: new AbortController(),
      details: undefined,
      flush() {
        if (hasBeaten) heartbeat(namespace, started, [payloadConverter.toPayload(next)]);
      },
      heartbeat(details) {
        next = details;
        hasBeaten = true;
        if (isWaiting) return;
        const waitMs = sentAt + throttleMs - process.monotonicMs;
        if (waitMs <= 0) send();
        else {
          isWaiting = true;
          process.after(waitMs, () => {
            if (isWaiting) send();
          });
        }
      },
    };
    return attempt;
  }
}

/** Only the fields that our activities read. */
function infoOf({ execution, activity }: StartedActivity): Info {
  const { activityId, activityType, attempt, taskQueue, heartbeat: heartbeatPayloads, heartbeatMs } = activity;
  const { workflowId, runId, type: workflowType } = execution;
  const info = {
    activityId,
    activityType,
    attempt,
    taskQueue,
    workflowType,
    workflowExecution: { workflowId, runId },
    scheduledTimestampMs: activity.scheduledMs,
    currentAttemptScheduledTimestampMs: activity.attemptMs,
    startToCloseTimeoutMs: activity.startToCloseMs,
    heartbeatTimeoutMs: heartbeatMs ?? undefined,
    heartbeatDetails: heartbeatPayloads ? arrayFromPayloads(payloadConverter, heartbeatPayloads)[0] : undefined,
    isLocal: false,
    namespace: 'default',
    workflowNamespace: 'default',
    activityNamespace: 'default',
  };
  return info as unknown as Info;
}

/** As the SDK reports an attempt that ended because an operator has reset or paused the activity. */
const endedByOperator = ({ reset }: Record<string, boolean>): ApplicationFailure =>
  reset
    ? new ApplicationFailure('Activity reset', 'ActivityReset')
    : new ApplicationFailure('Activity paused', 'ActivityPause');

const failureOf = (error: unknown): ProtoFailure =>
  failureConverter.errorToFailure(ensureTemporalFailure(error), payloadConverter);
