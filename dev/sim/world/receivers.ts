// The services of callers that are told of changes.
import type { NotifyInput, NotifyOutcome } from '../../../src/notify-http/sender.js';
import type { Scheduler } from '../clock/scheduler.js';

/** A notice that has reached its receiver. */
export interface Told {
  at: number;
  url: string;
  id: string;
  event: object;
  isTaken: boolean;
}

export class Receivers {
  /** All attempts, oldest first. */
  readonly told: Told[] = [];
  readonly #scheduler: Scheduler;
  readonly #failing = new Map<string, { status: number; until: number }>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** The receiver answers with this status for so long. */
  fail(url: string, status: number, forMs: number): void {
    this.#failing.set(url, { status, until: this.#scheduler.now + forMs });
  }

  async receive({ url, id, event }: NotifyInput): Promise<NotifyOutcome> {
    const { now } = this.#scheduler;
    const failing = this.#failing.get(url);
    const status = failing && now < failing.until ? failing.status : 200;
    this.told.push({ at: now, url, id, event, isTaken: status === 200 });
    return { kind: 'answered', status, retryAfter: undefined };
  }
}
