import type { Scheduler } from '../clock/scheduler.js';
import type { Poller, StartedActivity, StartedTask } from './execution.js';

/** Each task queue has two halves. */
export type TaskKind = 'workflow' | 'activity';

/** A worker process, as task queues know it. */
export interface Worker extends Poller {
  takeWorkflowTask(task: StartedTask): void;
  takeActivity(activity: StartedActivity): void;
}

export interface Waiting {
  isWanted: () => boolean;
  start: (poller: Poller) => void;
}

/** After its last poll a worker counts as there for so long. */
const rememberedMs = 10_000;

/** Task queues: hands out what waits to workers that poll. */
export class Matching {
  readonly #scheduler: Scheduler;
  readonly #latencyMs: () => number;
  readonly #pollers = new Map<string, Set<Worker>>();
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #workers = new Map<string, Worker>();
  readonly #goneAt = new Map<Poller, number>();

  constructor(scheduler: Scheduler, latencyMs: () => number) {
    this.#scheduler = scheduler;
    this.#latencyMs = latencyMs;
  }

  /** From now on the worker takes what is in this queue. */
  poll(kind: TaskKind, name: string, worker: Worker): void {
    const queue = `${kind} ${name}`;
    this.#workers.set(worker.identity, worker);
    this.#pollers.set(queue, (this.#pollers.get(queue) ?? new Set()).add(worker));
    const waiting = this.#waiting.get(queue) ?? [];
    this.#waiting.delete(queue);
    for (const one of waiting) this.#hand(queue, one);
  }

  stopPolling(kind: TaskKind, name: string, worker: Worker): void {
    this.#pollers.get(`${kind} ${name}`)?.delete(worker);
  }

  /** The worker has died: the server notices only that it polls no more. */
  lose(worker: Worker): void {
    for (const pollers of this.#pollers.values()) pollers.delete(worker);
    this.#workers.delete(worker.identity);
    this.#goneAt.set(worker, this.#scheduler.now);
  }

  /** The worker says that it leaves. What it has begun it may end. */
  signOff(worker: Worker): void {
    for (const pollers of this.#pollers.values()) pollers.delete(worker);
    this.#goneAt.set(worker, this.#scheduler.now - rememberedMs);
  }

  pollersOf(kind: TaskKind, name: string): readonly Worker[] {
    return this.#pollersOf(`${kind} ${name}`);
  }

  /** Has the server noticed that this worker polls no more? */
  isGone(poller: Poller): boolean {
    const goneAt = this.#goneAt.get(poller);
    return goneAt !== undefined && this.#scheduler.now - goneAt >= rememberedMs;
  }

  give(kind: TaskKind, name: string, waiting: Waiting): void {
    this.#hand(`${kind} ${name}`, waiting);
  }

  /** Only this worker may have it. */
  giveTo(poller: Poller, isWanted: () => boolean, start: () => void): void {
    this.#scheduler.after(this.#latencyMs(), () => {
      if (isWanted() && this.#workers.has(poller.identity)) start();
    });
  }

  handTask(poller: Poller, task: StartedTask): void {
    this.#workers.get(poller.identity)?.takeWorkflowTask(task);
  }

  handActivity(poller: Poller, activity: StartedActivity): void {
    this.#workers.get(poller.identity)?.takeActivity(activity);
  }

  #pollersOf(queue: string): Worker[] {
    return [...(this.#pollers.get(queue) ?? [])];
  }

  #hand(queue: string, one: Waiting): void {
    this.#scheduler.after(this.#latencyMs(), () => {
      if (!one.isWanted()) return;
      const [first, ...others] = this.#pollersOf(queue);
      if (first) one.start(this.#scheduler.pick([first, ...others]));
      else this.#waiting.set(queue, [...(this.#waiting.get(queue) ?? []), one]);
    });
  }
}
