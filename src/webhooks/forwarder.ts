import { setTimeout as sleep } from 'node:timers/promises';
import { createOutageWatch } from './forward-outage.js';
import { createPlan } from './forward-plan.js';
import { createRouting, type RoutingPorts } from './forward-routing.js';
import type { Journal } from './journal.js';
import type { GroupId } from './journal-keys.js';

/** What a forwarder works with. */
export interface ForwarderOptions extends RoutingPorts {
  journal: Pick<Journal, 'groupsAfter' | 'readGroup' | 'remove' | 'onAppend'>;
  /** A group was tried in vain. For metrics and logs; the error holds no content. */
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
  const route = createRouting(options);
  const plan = createPlan(journal, now);
  const outage = createOutageWatch(concurrency, options.onOutage);
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
    const next = await forwardGroup(id).catch((error: Error) => {
      onFailed?.(error);
      return 'wait' as const;
    });
    plan.over(id, next);
    tryMore();
  }

  async function forwardGroup(id: GroupId): Promise<'rest' | 'goOn'> {
    const triedAt = now();
    // A probe is small: while nothing can be forwarded, all time belongs to those who deliver.
    const { entries, hasMore } = journal.readGroup(id, outage.isOut() ? 1 : undefined);
    const { done, error } = await route(entries.map(({ delivery }) => delivery));
    if (done.length > 0) {
      outage.succeeded(now());
      await journal.remove(done.flatMap((index) => (entries[index] ? [entries[index].key] : [])));
    }
    if (!error) return hasMore ? 'goOn' : 'rest';
    if (!outage.failed(error, triedAt, now())) throw error;
    onFailed?.(error);
    return 'goOn'; // there was nothing wrong with this group
  }

  return {
    start() {
      isRunning = true;
      journal.onAppend((id) => {
        plan.noteAppend(id);
        tryMore();
      });
      plan.noteAppend(null);
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
