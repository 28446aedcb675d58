// The worker processes of a world, and what happens to them.
import { type FleetParts, type RunningWorker, startWorker } from './fleet.js';

/** Each disturbance concerns the oldest worker process, and returns false if there is none. */
export class Workers {
  readonly #parts: FleetParts;
  /** Oldest first. */
  readonly #running: RunningWorker[] = [];
  #started = 0;

  /** Starts `count` workers. */
  constructor(parts: FleetParts, count: number) {
    this.#parts = parts;
    for (let left = count; left > 0; left -= 1) this.#begin();
  }

  /** The newest that reaches Temporal. */
  get reachable(): RunningWorker | undefined {
    return this.#running.findLast(({ process }) => process.isConnected);
  }

  /** Kills it. Another one starts after `restMs`. */
  kill(restMs: number): boolean {
    const killed = this.#running.shift();
    killed?.worker.kill();
    if (killed) this.#after(restMs, () => this.#begin());
    return killed !== undefined;
  }

  pause(forMs: number): boolean {
    const [paused] = this.#running;
    paused?.process.pause();
    this.#after(forMs, () => paused?.process.resume());
    return paused !== undefined;
  }

  /** It reaches the service, but not Temporal. */
  cutOff(forMs: number): boolean {
    const { matching } = this.#parts.namespace;
    const [cutOff] = this.#running;
    if (!cutOff?.process.isConnected) return false;
    const { process, worker } = cutOff;
    process.disconnect();
    matching.disconnect(worker);
    this.#after(forMs, () => {
      if (!process.isAlive) return;
      process.reconnect();
      matching.reconnect(worker);
    });
    return true;
  }

  /** Starts another one, and tells the oldest to leave after `overlapMs`. */
  replace(overlapMs: number): boolean {
    if (this.#running.length === 0) return false;
    this.#begin();
    this.#after(overlapMs, () => {
      if (this.#running.length > 1) this.#running.shift()?.leave();
    });
    return true;
  }

  /** Moves its wall clock. */
  moveClock(byMs: number): boolean {
    const [moved] = this.#running;
    if (moved) moved.process.clockAheadMs += byMs;
    return moved !== undefined;
  }

  #begin(): void {
    this.#started += 1;
    const one = startWorker(`worker-${this.#started}`, this.#parts);
    this.#running.push(one);
    this.#parts.namespace.scheduler.note(`start ${one.process.name}`);
  }

  #after(ms: number, act: () => void): void {
    this.#parts.namespace.scheduler.after(ms, act);
  }
}
