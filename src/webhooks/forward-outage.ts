import { TemporalUnavailable } from './forward-errors.js';

/** Whether Temporal as a whole takes deliveries. While not, few calls go out, to notice when it does again. */
export interface OutageWatch {
  /** May one more group be tried, with so many being tried already? */
  mayTry(inFlight: number, now: number): boolean;
  /** One is tried now. */
  tried(now: number): void;
  succeeded(now: number): void;
  /** True: this is the outage, not the group's own fault. */
  failed(error: Error, triedAt: number, now: number): boolean;
  isOut(): boolean;
}

/** Recovery is noticed within this and the time of one call. */
const probeEveryMs = 500;
/** A call that hangs takes 5 s: with ten of them in flight the next one still goes out in time. */
const maxProbes = 12;
/** Also failures that look like the groups' own are an outage when nothing else happens. */
const failuresInARow = 16;

export function createOutageWatch(concurrency: number, onChange?: (isOut: boolean) => void): OutageWatch {
  let isOut = false;
  let inARow = 0;
  let lastSuccessAt = Number.NEGATIVE_INFINITY;
  let probeAt = 0;

  function change(to: boolean): void {
    isOut = to;
    onChange?.(to);
  }

  return {
    mayTry: (inFlight, now) =>
      isOut ? inFlight < Math.min(maxProbes, concurrency) && now >= probeAt : inFlight < concurrency,
    tried(now) {
      if (isOut) probeAt = now + probeEveryMs;
    },
    succeeded(now) {
      inARow = 0;
      lastSuccessAt = now;
      if (isOut) change(false);
    },
    failed(error, triedAt, now) {
      inARow += 1;
      // Others went well in the meantime: whatever it says, it is this group's own trouble.
      const isOutage = error instanceof TemporalUnavailable && lastSuccessAt < triedAt;
      if (!isOut && (isOutage || inARow >= failuresInARow)) {
        probeAt = now + probeEveryMs;
        change(true);
      }
      return isOutage;
    },
    isOut: () => isOut,
  };
}
