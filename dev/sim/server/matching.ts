import type { Scheduler } from '../clock/scheduler.js';
import type { Poller, StartedActivity, StartedTask } from './execution.js';

/** A task queue holds tasks of both kinds separately. */
export type TaskKind = 'workflow' | 'activity';

/** A worker process that polls task queues. */
export interface Worker extends Poller {
  isConnected: boolean;
  takeWorkflowTask(task: StartedTask): void;
  takeActivity(activity: StartedActivity): void;
}

export interface Waiting {
  isWanted: () => boolean;
  start: (poller: Poller) => void;
}

/** As in `simpleLimiter` of service/matching/matcher_data.go. */
interface Limit {
  everyMs: number;
  readyAt: number;
}

/** An idle queue may hand out the activities of this time at once. */
const burstMs = 1_000;
/** How long a worker counts as present after its last poll. */
const rememberedMs = 10_000;

/** The task queues: hands tasks to polling workers. */
export class Matching {
  readonly #scheduler: Scheduler;
  readonly #latencyMs: () => number;
  readonly #pollers = new Map<string, Set<Worker>>();
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #workers = new Map<string, Worker>();
  readonly #goneAt = new Map<Poller, number>();
  readonly #limits = new Map<string, Limit>();

  constructor(scheduler: Scheduler, latencyMs: () => number) {
    this.#scheduler = scheduler;
    this.#latencyMs = latencyMs;
  }

  /** The worker starts polling this queue. */
  poll(kind: TaskKind, name: string, worker: Worker): void {
    const queue = `${kind} ${name}`;
    this.#workers.set(worker.identity, worker);
    this.#pollers.set(queue, (this.#pollers.get(queue) ?? new Set()).add(worker));
    this.#handWaiting(queue);
  }

  stopPolling(kind: TaskKind, name: string, worker: Worker): void {
    this.#pollers.get(`${kind} ${name}`)?.delete(worker);
  }

  /** The worker has died. The server only notices that it has stopped polling. */
  lose(worker: Worker): void {
    for (const pollers of this.#pollers.values()) pollers.delete(worker);
    this.#workers.delete(worker.identity);
    if (!this.#goneAt.has(worker)) this.#goneAt.set(worker, this.#scheduler.now);
  }

  /** The worker no longer reaches the server. */
  disconnect(worker: Worker): void {
    this.#goneAt.set(worker, this.#scheduler.now);
  }

  /** The worker polls its task queues again. */
  reconnect(worker: Worker): void {
    this.#goneAt.delete(worker);
    for (const [queue, pollers] of this.#pollers) if (pollers.has(worker)) this.#handWaiting(queue);
  }

  /** The worker shuts down and tells the server. It may finish the tasks it has. */
  signOff(worker: Worker): void {
    for (const pollers of this.#pollers.values()) pollers.delete(worker);
    this.#goneAt.set(worker, this.#scheduler.now - rememberedMs);
  }

  /** Limits how many activities of a queue start per second. */
  limit(name: string, perSecond: number): void {
    const queue = `activity ${name}`;
    const readyAt = this.#limits.get(queue)?.readyAt ?? this.#scheduler.now;
    this.#limits.set(queue, { everyMs: 1_000 / perSecond, readyAt });
  }

  pollersOf(kind: TaskKind, name: string): readonly Worker[] {
    return this.#pollersOf(`${kind} ${name}`);
  }

  /** Does the server know that this worker no longer polls? */
  isGone(poller: Poller): boolean {
    const goneAt = this.#goneAt.get(poller);
    return goneAt !== undefined && this.#scheduler.now - goneAt >= rememberedMs;
  }

  give(kind: TaskKind, name: string, waiting: Waiting): void {
    this.#hand(`${kind} ${name}`, waiting);
  }

  /** For tasks that only this worker may take. */
  giveTo(poller: Poller, isWanted: () => boolean, start: () => void): void {
    this.#scheduler.after(this.#latencyMs(), () => {
      if (isWanted() && this.#workers.get(poller.identity)?.isConnected) start();
    });
  }

  handTask(poller: Poller, task: StartedTask): void {
    this.#workers.get(poller.identity)?.takeWorkflowTask(task);
  }

  handActivity(poller: Poller, activity: StartedActivity): void {
    this.#workers.get(poller.identity)?.takeActivity(activity);
  }

  #pollersOf(queue: string): Worker[] {
    return [...(this.#pollers.get(queue) ?? [])].filter(({ isConnected }) => isConnected);
  }

  #handWaiting(queue: string): void {
    const waiting = this.#waiting.get(queue) ?? [];
    this.#waiting.delete(queue);
    for (const one of waiting) this.#hand(queue, one);
  }

  #hand(queue: string, one: Waiting, afterMs: number = this.#latencyMs()): void {
    this.#scheduler.after(afterMs, () => {
      if (!one.isWanted()) return;
      const [first, ...others] = this.#pollersOf(queue);
      const limit = this.#limits.get(queue);
      const { now } = this.#scheduler;
      if (!first) this.#waiting.set(queue, [...(this.#waiting.get(queue) ?? []), one]);
      else if (limit && limit.readyAt > now) this.#hand(queue, one, limit.readyAt - now);
      else {
        if (limit) limit.readyAt = Math.max(now - burstMs, limit.readyAt) + limit.everyMs;
        one.start(this.#scheduler.pick([first, ...others]));
      }
    });
  }
}
