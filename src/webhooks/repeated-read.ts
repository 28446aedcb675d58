/** Two reads begin at least this far apart, whatever comes in. */
const minIntervalMs = 1_000;
/** The longest that anybody waits for a read. */
const maxWaitMs = 2_000;

/** The last value that was read, and when that read began, in milliseconds since the epoch. */
export interface ReadValue<T> {
  value: T;
  readAt: number;
}

/** A value that lives elsewhere: read one at a time, not too often, and kept at hand. */
export interface RepeatedRead<T> {
  latest(): ReadValue<T> | undefined;
  /** Reads again in the background when the latest value is older than this. */
  keepFresh(maxAgeMs: number): void;
  /**
   * Waits for a value whose read begins from now on; with `since`, at that instant or later. False: there is none. An
   * earlier read does too when `isEnough` says so.
   * Ends within `maxWaitMs` and never rejects. When a read fails it waits for no other, and while the last one has
   * failed it does not wait at all.
   */
  waitForRead(options: { since?: number | undefined; isEnough?: () => boolean }): Promise<boolean>;
}

/** `read` ends within seconds. Failures are not told: what to do without a value is the caller's to decide. */
export function createRepeatedRead<T>(read: () => Promise<T>, now: () => number): RepeatedRead<T> {
  let latest: (ReadValue<T> & { turn: number }) | undefined;
  let pending: Promise<void> | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let turn = 0; // tells reads apart that begin in one millisecond
  let isFailing = false; // the last read failed, or is overdue

  const pauseMs = (): number => triedAt + minIntervalMs - now();

  function start(): Promise<void> {
    const begun = { readAt: now(), turn: ++turn };
    triedAt = begun.readAt;
    pending = read()
      .then(
        (value) => {
          latest = { value, ...begun };
          isFailing = false;
        },
        () => {
          isFailing = true;
        },
      )
      .finally(() => {
        pending = undefined;
      });
    return pending;
  }

  async function readUntil(isReached: () => boolean): Promise<void> {
    while (!isReached()) {
      const wasFailing = isFailing;
      if (!pending && pauseMs() > 0) {
        if (wasFailing) return;
        await new Promise((resolve) => setTimeout(resolve, pauseMs()));
        continue; // another waiter may have read meanwhile
      }
      const reading = pending ?? start();
      if (wasFailing) return;
      await reading;
      if (isFailing) return;
    }
  }

  return {
    latest: () => latest,
    keepFresh(maxAgeMs) {
      if (latest && now() - latest.readAt > maxAgeMs && !pending && pauseMs() <= 0) void start();
    },
    async waitForRead({ since, isEnough = () => false }) {
      const before = turn;
      const isNew = ({ readAt, turn: read }: { readAt: number; turn: number }): boolean =>
        since === undefined ? read > before : readAt >= since;
      const isReached = (): boolean => latest !== undefined && (isNew(latest) || isEnough());
      if (isReached()) return true;
      let limit: NodeJS.Timeout | undefined;
      const overdue = new Promise<void>((resolve) => {
        limit = setTimeout(() => {
          isFailing = true;
          resolve();
        }, maxWaitMs);
      });
      await Promise.race([readUntil(isReached), overdue]);
      clearTimeout(limit);
      return isReached();
    },
  };
}
