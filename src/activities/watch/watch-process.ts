import { setTimeout as pause } from 'node:timers/promises';

/** What the watches of a process share. */
export interface ProcessPorts {
  ping(): Promise<void>;
  isLeaving(): boolean;
  /** Does the process hold a watch? */
  isNeeded(): boolean;
  /** Without Temporal for so long, in milliseconds, another process may hold the watches. */
  contactMs: number;
  now: () => number;
}

const tickMs = 200;
const pingEveryMs = 5_000;
/** All processes together stay below two calls of visibility a second, if they are three; a few at once do no harm. */
const listEveryMs = 1_500;
/** A run that answers may have to be replayed. */
const askEveryMs = 200;
const atOnce = 3;

/** Whether this process surely is the only one with its watches, and when it has to leave them. */
export class WatchProcess {
  readonly #ports: ProcessPorts;
  readonly #leaving = new AbortController();
  readonly lists: Turns;
  readonly asks: Turns;
  #contactAt = 0;
  #pausedAt = Number.NEGATIVE_INFINITY;
  #isBegun = false;

  constructor(ports: ProcessPorts) {
    this.#ports = ports;
    this.lists = new Turns(listEveryMs, ports.now);
    this.asks = new Turns(askEveryMs, ports.now);
  }

  /** Aborted when the process has to leave. */
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  isSure(): boolean {
    const { now, contactMs } = this.#ports;
    return now() - this.#contactAt < contactMs && now() - this.#pausedAt > contactMs;
  }

  begin(): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    const { now, isLeaving, isNeeded, ping } = this.#ports;
    this.#contactAt = now();
    let tickAt = now();
    for (let pingAt = 0; isNeeded(); ) {
      if (isLeaving()) this.#leaving.abort();
      // The process was stopped, or was very slow: another one may hold its watches by now.
      if (now() - tickAt > pingEveryMs) this.#pausedAt = now();
      tickAt = now();
      if (tickAt >= pingAt) {
        pingAt = tickAt + pingEveryMs;
        const reached = (): number => (this.#contactAt = now());
        ping().then(reached, () => undefined);
      }
      await pause(tickMs, undefined, { ref: false });
    }
    this.#isBegun = false;
  }
}

/** Turns at a rate; some may be taken at once. */
class Turns {
  readonly #everyMs: number;
  readonly #now: () => number;
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor(everyMs: number, now: () => number) {
    this.#everyMs = everyMs;
    this.#now = now;
  }

  waitMs(): number {
    return Math.max(0, this.#fullAt - (atOnce - 1) * this.#everyMs - this.#now());
  }

  take(): boolean {
    if (this.waitMs() > 0) return false;
    this.#fullAt = Math.max(this.#fullAt, this.#now()) + this.#everyMs;
    return true;
  }
}
