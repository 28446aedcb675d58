import { setTimeout as sleep } from 'node:timers/promises';
import { TemporalUnavailable } from '../delivery-port.js';
import type { JournaledDelivery, JournalKey } from '../journal/entries.js';
import type { Journal } from '../journal/journal.js';
import { type CallResult, createPlan, type ForwardPlan, type Group, oldestOf } from './plan.js';
import { createRouting, type RoutingPorts } from './routing.js';
import { type Room, ShareUsedUp } from './starts.js';

export interface ForwarderOptions extends RoutingPorts {
  journal: Pick<Journal, 'keysAfter' | 'read' | 'remove' | 'onAppend'>;
  /** An attempt to forward a group failed. For metrics and logs, so the error holds no content. */
  onFailed?: (error: Error) => void;
  /** Temporal as a whole takes no deliveries (true), or takes them again (false). */
  onOutage?: (isOut: boolean) => void;
  /** How many more runs of an account may start, or deliveries be parked; default: any number. */
  room?: Room;
  /** The most groups in flight, one call to Temporal each. Default 64. */
  concurrency?: number;
  now?: () => number;
}

/** Carries deliveries from the journal to Temporal. */
export interface Forwarder {
  start(): void;
  /** Starts no more calls and waits for those in flight, at most `limitMs`. The other deliveries stay in the journal. */
  stop(limitMs: number): Promise<void>;
  /** The deliveries that wait for a share of their account. */
  waiting: ForwardPlan['allWaiting'];
  /** May the journal take it? Not where very many deliveries of the account wait, nor one that cannot be parked now. */
  hasRoomFor(delivery: JournaledDelivery): boolean;
}

/** So many deliveries of an account may wait until their orders may start, or a person has placed others. About 5 MB of the journal. */
const mostWaiting = 10_000;

/** Short beside rests of a second and probes of half a second. It runs only while a group waits. */
const tickMs = 100;

/** Forwards group by group, each delivery at least once. A delivery leaves the journal only after Temporal has it. */
export function createForwarder(options: ForwarderOptions): Forwarder {
  const { journal, onFailed, concurrency = 64, now = Date.now, room = () => Number.POSITIVE_INFINITY } = options;
  const plan = createPlan(journal, now);
  const outage = createOutageWatch(concurrency, options.onOutage);
  const forwardGroup = createGroupForwarding(options, outage);
  const calls = new Set<Promise<void>>();
  let tick: NodeJS.Timeout | undefined;
  let isRunning = false;

  function tryMore(): void {
    if (!isRunning) return;
    try {
      while (outage.mayTry(plan.inFlight(), now())) {
        const group = plan.take();
        if (group === undefined) break;
        outage.tried(now());
        const call = forward(group).finally(() => calls.delete(call));
        calls.add(call);
      }
    } catch (error) {
      onFailed?.(error as Error);
    }
    if (tick === undefined && (plan.hasMore() || outage.isOut())) tick = setTimeout(onTick, tickMs).unref();
  }

  function onTick(): void {
    tick = undefined;
    plan.tick(room);
    tryMore();
  }

  /** Never rejects. */
  async function forward(group: Group): Promise<void> {
    await undefined; // so that a call never ends before the next has begun
    const { result, gone } = await forwardGroup(oldestOf(group)).catch((error: Error) => {
      onFailed?.(error);
      return { result: 'failed' as const, gone: [] };
    });
    plan.over(group, result, gone);
    tryMore();
  }

  return {
    waiting: plan.allWaiting,
    hasRoomFor({ account, parkReason }) {
      if (parkReason !== undefined) return room('parked', account) > 0;
      return plan.waiting('newOrders', account) + plan.waiting('parked', account) < mostWaiting;
    },
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

/** Forwards these entries of a group in one call to Temporal, as many as fit. Gives those that the journal no longer has. Rejects while the
 *  journal cannot be used. */
function createGroupForwarding(options: ForwarderOptions, outage: OutageWatch) {
  const { journal, onFailed, now = Date.now } = options;
  const route = createRouting(options);

  return async (keys: readonly JournalKey[]): Promise<{ result: CallResult; gone: JournalKey[] }> => {
    const triedAt = now();
    const entries = new Map<JournaledDelivery, JournalKey>();
    const gone: JournalKey[] = [];
    // A probe is small, since incoming deliveries need the time during an outage.
    for (const { key, delivery } of journal.read(outage.isOut() ? keys.slice(0, 1) : keys))
      if (delivery) entries.set(delivery, key);
      else gone.push(key);
    const { done, error } = await route([...entries.keys()]);
    if (done.size > 0) {
      outage.succeeded(now());
      const forwarded = [...entries].flatMap(([delivery, key]) => (done.has(delivery) ? [key] : []));
      await journal.remove(forwarded);
      gone.push(...forwarded);
    }
    if (!error) return { result: 'succeeded', gone };
    if (error instanceof ShareUsedUp) {
      if (error.reason === 'newOrders') outage.succeeded(now()); // Temporal has said that no run follows the order
      return { result: error.reason, gone };
    }
    onFailed?.(error);
    return { result: outage.failed(error, triedAt, now()) ? 'postponed' : 'failed', gone };
  };
}

/** Does Temporal as a whole take deliveries? During an outage few calls go out, to see its end. */
interface OutageWatch {
  /** May the forwarder try one more group, with so many in flight? */
  mayTry(inFlight: number, now: number): boolean;
  /** The forwarder tries a group now. */
  tried(now: number): void;
  succeeded(now: number): void;
  /** True: the outage is the cause, and not the group. */
  failed(error: Error, triedAt: number, now: number): boolean;
  isOut(): boolean;
}

/** The forwarder sees a recovery within this and the time of one call. */
const probeEveryMs = 500;
/** A call that hangs takes 5 s, so ten may be in flight when the next one is due. */
const maxProbes = 12;
/** So many failures without a success count as an outage, whatever their errors say. */
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
      // If another group succeeded meanwhile, this group is the cause, whatever the error says.
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
