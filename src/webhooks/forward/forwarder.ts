import { setTimeout as sleep } from 'node:timers/promises';
import { TemporalUnavailable } from '../delivery-port.js';
import type { GroupId, JournaledDelivery, JournalKey } from '../journal/entries.js';
import type { Journal } from '../journal/journal.js';
import { type CallResult, createPlan, type ForwardPlan } from './plan.js';
import { createRouting, type RoutingPorts } from './routing.js';

/** What a forwarder works with. */
export interface ForwarderOptions extends RoutingPorts {
  journal: Pick<Journal, 'keysAfter' | 'read' | 'remove' | 'onAppend'>;
  /** An attempt to forward a group failed. For metrics and logs; the error holds no content. */
  onFailed?: (error: Error) => void;
  /** Temporal as a whole takes nothing (true), or does again (false). */
  onOutage?: (isOut: boolean) => void;
  /** Groups in flight, one call to Temporal each. Default 64. */
  concurrency?: number;
  now?: () => number;
}

/** Carries what the journal holds to Temporal. */
export interface Forwarder {
  start(): void;
  /** Starts no more calls and waits for those in flight, at most `limitMs`. What is not forwarded stays in the journal. */
  stop(limitMs: number): Promise<void>;
}

/** Soon enough for waits of a second and probes of half a second; it runs only while something waits. */
const tickMs = 100;

/** Forwards group by group: at least once, and nothing leaves the journal before Temporal has it. */
export function createForwarder(options: ForwarderOptions): Forwarder {
  const { journal, onFailed, concurrency = 64, now = Date.now } = options;
  const plan = createPlan(journal, now);
  const outage = createOutageWatch(concurrency, options.onOutage);
  const forwardGroup = createGroupForwarding(options, plan, outage);
  const calls = new Set<Promise<void>>();
  let tick: NodeJS.Timeout | undefined;
  let isRunning = false;

  function tryMore(): void {
    if (!isRunning) return;
    try {
      while (outage.mayTry(plan.inFlight(), now())) {
        const id = plan.take();
        if (id === undefined) break;
        outage.tried(now());
        const call = forward(id).finally(() => calls.delete(call));
        calls.add(call);
      }
    } catch (error) {
      onFailed?.(error as Error);
    }
    if (tick === undefined && (plan.isWaiting() || outage.isOut())) tick = setTimeout(onTick, tickMs).unref();
  }

  function onTick(): void {
    tick = undefined;
    plan.tick();
    tryMore();
  }

  /** Never rejects. */
  async function forward(id: GroupId): Promise<void> {
    await undefined; // so that a call never ends before the next has begun
    const result = await forwardGroup(id).catch((error: Error) => {
      onFailed?.(error);
      return 'failed' as const;
    });
    plan.over(id, result);
    tryMore();
  }

  return {
    start() {
      isRunning = true;
      journal.onAppend((key) => {
        plan.noteAppend(key);
        tryMore();
      });
      tryMore();
    },
    async stop(limitMs) {
      isRunning = false;
      clearTimeout(tick);
      tick = undefined;
      const limit = new AbortController();
      const inTime = sleep(limitMs, undefined, { signal: limit.signal }).catch(() => undefined);
      await Promise.race([Promise.all(calls), inTime]);
      limit.abort();
    },
  };
}

/** One call to Temporal for all that a group has, as far as that fits. Rejects when it is to wait. */
function createGroupForwarding(options: ForwarderOptions, plan: ForwardPlan, outage: OutageWatch) {
  const { journal, onFailed, now = Date.now } = options;
  const route = createRouting(options);

  return async (id: GroupId): Promise<CallResult> => {
    const triedAt = now();
    const keys = plan.oldestOf(id);
    // A probe is small: while nothing can be forwarded, all time belongs to those who deliver.
    const { entries, gone } = read(journal, outage.isOut() ? keys.slice(0, 1) : keys);
    const { done, error } = await route(entries.map(({ delivery }) => delivery));
    if (done.length > 0) {
      outage.succeeded(now());
      const forwarded = done.flatMap((index) => (entries[index] ? [entries[index].key] : []));
      await journal.remove(forwarded);
      gone.push(...forwarded);
    }
    plan.noteRemoved(id, gone);
    if (!error) return 'succeeded';
    if (!outage.failed(error, triedAt, now())) throw error;
    onFailed?.(error);
    return 'postponed';
  };
}

/** What is there of these entries, and what is not any more. */
function read(journal: Pick<Journal, 'read'>, keys: readonly JournalKey[]) {
  const entries: { key: JournalKey; delivery: JournaledDelivery }[] = [];
  const gone: JournalKey[] = [];
  for (const { key, delivery } of journal.read(keys)) {
    if (delivery) entries.push({ key, delivery });
    else gone.push(key);
  }
  return { entries, gone };
}

/** Whether Temporal as a whole takes deliveries. While not, few calls go out, to notice when it does again. */
interface OutageWatch {
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

function createOutageWatch(concurrency: number, onChange?: (isOut: boolean) => void): OutageWatch {
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
