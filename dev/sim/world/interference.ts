// Calls that fail in transit, to Temporal or to the service.
import type { Scheduler } from '../clock/scheduler.js';

export type Link = 'temporal' | 'service';
/**
 * What becomes of a call. `answerLost`: it was carried out, but the caller does not learn that. `answerLate`, of calls to
 * the service: the caller learns some seconds later, when the answer may no longer be true.
 */
export type Fate = 'arrives' | 'requestLost' | 'answerLost' | 'answerLate';

/** An answer that the service gives without carrying out the call. */
export interface Refusal {
  status: number;
  retryAfterSeconds: number | null;
  /** Default: an error that no page of the service describes. */
  body?: object;
}

/** A period in which each call fails with the probability `share`. */
export interface Period {
  link: Link;
  /** Which calls to the service, by their URL; default: all. */
  concerns?: (url: string) => boolean;
  fails: Exclude<Fate, 'arrives'> | Refusal;
  share: number;
  forMs: number;
}

export class Interference {
  readonly #scheduler: Scheduler;
  readonly #periods: { period: Period; until: number }[] = [];

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  begin(period: Period): void {
    this.#periods.push({ period, until: this.#scheduler.now + period.forMs });
  }

  /** `url`: of a call to the service. */
  fateOf(link: Link, url = ''): Fate {
    const fails = this.#draw(link, url, ({ fails }) => typeof fails === 'string');
    return typeof fails === 'string' ? fails : 'arrives';
  }

  refusal(url: string): Refusal | null {
    const fails = this.#draw('service', url, ({ fails }) => typeof fails === 'object');
    return typeof fails === 'object' ? fails : null;
  }

  #draw(link: Link, url: string, isMeant: (period: Period) => boolean): Period['fails'] | undefined {
    const { now } = this.#scheduler;
    for (const { period, until } of this.#periods) {
      if (period.link !== link || now >= until || !isMeant(period)) continue;
      if (period.concerns && !period.concerns(url)) continue;
      if (this.#scheduler.chance(period.share)) return period.fails;
    }
    return undefined;
  }
}
