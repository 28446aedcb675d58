import { AsyncLocalStorage } from 'node:async_hooks';
import type { Scheduler } from './scheduler.js';

const current = new AsyncLocalStorage<Process>();

/** The simulated process whose code is running. */
export const currentProcess = (): Process | undefined => current.getStore();

/** A simulated process. Its timers and callbacks die with it, and wait while it is paused. */
export class Process {
  readonly name: string;
  readonly scheduler: Scheduler;
  isAlive = true;
  isPaused = false;
  /** Error of its wall clock in milliseconds; positive if the clock is ahead. */
  clockAheadMs = 0;
  /** Does it reach Temporal? */
  isConnected = true;
  readonly #held: (() => void)[] = [];
  readonly #unsent: (() => void)[] = [];
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

  /** Runs code in this process. */
  enter<T>(code: () => T): T {
    return current.run(this, code);
  }

  /** Runs code in this process: now, after its pause, or never if it is dead. */
  go(code: () => void): void {
    if (!this.isAlive) return;
    if (this.isPaused) this.#held.push(code);
    else this.enter(code);
  }

  after(ms: number, code: () => void): void {
    // At least 1 ms, as in Node. Otherwise a loop that waits for a fraction of a millisecond would never advance.
    this.scheduler.after(Math.max(1, ms), () => this.go(code));
  }

  /** Sends something to Temporal: now, after the connection is back, or never if the process is dead. */
  send(act: () => void): void {
    if (this.isConnected) act();
    else this.#unsent.push(act);
  }

  disconnect(): void {
    this.isConnected = false;
  }

  reconnect(): void {
    this.isConnected = true;
    for (const act of this.#unsent.splice(0)) this.scheduler.after(0, () => this.go(act));
  }

  kill(): void {
    this.isAlive = false;
    this.#held.length = 0;
    this.#unsent.length = 0;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    for (const code of this.#held.splice(0)) this.scheduler.after(0, () => this.go(code));
  }
}
