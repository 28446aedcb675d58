import { AsyncLocalStorage } from 'node:async_hooks';
import type { Scheduler } from './scheduler.js';

const current = new AsyncLocalStorage<Process>();

/** The process whose code is running. */
export const currentProcess = (): Process | undefined => current.getStore();

/** A process of the simulation. What it has begun ends with it, and rests while it is paused. */
export class Process {
  readonly name: string;
  readonly scheduler: Scheduler;
  isAlive = true;
  isPaused = false;
  /** How much later than true its wall clock is. */
  clockAheadMs = 0;
  readonly #held: (() => void)[] = [];
  readonly #bornAt: number;

  constructor(name: string, scheduler: Scheduler) {
    this.name = name;
    this.scheduler = scheduler;
    this.#bornAt = scheduler.now;
  }

  get wallMs(): number {
    return this.scheduler.now + this.clockAheadMs;
  }

  get monotonicMs(): number {
    return this.scheduler.now - this.#bornAt;
  }

  /** Runs code as that of this process. */
  enter<T>(code: () => T): T {
    return current.run(this, code);
  }

  /** Runs code of this process now, after its pause, or never. */
  go(code: () => void): void {
    if (!this.isAlive) return;
    if (this.isPaused) this.#held.push(code);
    else this.enter(code);
  }

  after(ms: number, code: () => void): void {
    // As in Node, never 0: a loop that waits for a part of a millisecond would stand still.
    this.scheduler.after(Math.max(1, ms), () => this.go(code));
  }

  kill(): void {
    this.isAlive = false;
    this.#held.length = 0;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    for (const code of this.#held.splice(0)) this.scheduler.after(0, () => this.go(code));
  }
}
