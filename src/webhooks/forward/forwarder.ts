import { setTimeout as sleep } from 'node:timers/promises';
import type { EventType } from '../../domain/subscription/subscription.js';
import { TemporalUnavailable } from '../delivery-port.js';
import type { GroupId, JournaledDelivery, JournalKey } from '../journal/entries.js';
import type { Journal } from '../journal/journal.js';
import { type NewKind, type NewOrders, TooManyNewOrders } from './new-orders.js';
import { type ParkedShare, TooManyParked } from './parked-share.js';
import { type CallResult, createPlan, type ForwardPlan, type HeldDeliveries } from './plan.js';
import { createRouting, type RoutingPorts } from './routing.js';

export interface ForwarderOptions extends RoutingPorts {
  journal: Pick<Journal, 'keysAfter' | 'read' | 'remove' | 'onAppend'>;
  /** An attempt to forward a group failed. For metrics and logs, so the error holds no content. */
  onFailed?: (error: Error) => void;
  /** Temporal as a whole takes no deliveries (true), or takes them again (false). */
  onOutage?: (isOut: boolean) => void;
  /** How many more orders of an account may start; default: any number. */
  roomForNew?: NewOrders['room'];
  /** How many more deliveries of an account may be parked; default: any number. */
  roomToPark?: ParkedShare['roomToPark'];
  /** The most groups in flight, one call to Temporal each. Default 64. */
  concurrency?: number;
  now?: () => number;
}

/** Carries deliveries from the journal to Temporal. */
export interface Forwarder {
  start(): void;
  /** Starts no more calls and waits for those in flight, at most `limitMs`. The other deliveries stay in the journal. */
  stop(limitMs: number): Promise<void>;
  held(): HeldDeliveries;
  /** May the journal take it? Not one about an order while very many of the account wait, nor one that cannot be parked now. */
  hasRoomFor(delivery: JournaledDelivery): boolean;
}

/** So many deliveries of an account may wait until their orders may start, or a person has placed others. About 5 MB of the journal. */
const mostHeld = 10_000;

const kindOf: Record<EventType, NewKind> = { status_changed: 'newOrders', business_report: 'newReports' };

const anyNumber = () => Number.POSITIVE_INFINITY;

/** Short beside waits of a second and probes of half a second. It runs only while a group waits. */
const tickMs = 100;

/** Forwards group by group, each delivery at least once. A delivery leaves the journal only after Temporal has it. */
export function createForwarder(options: ForwarderOptions): Forwarder {
  const { journal, onFailed, concurrency = 64, now = Date.now } = options;
  const { roomForNew = { newOrders: anyNumber, newReports: anyNumber }, roomToPark = anyNumber } = options;
  const room = { ...roomForNew, parked: roomToPark };
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
    plan.tick(room);
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
    held: plan.held,
    hasRoomFor({ account, eventType, parkReason }) {
      if (parkReason !== undefined) return room.parked(account) > 0;
      const held = plan.held();
      const waiting = held[kindOf[eventType]].get(account) ?? 0;
      return waiting + (held.parked.get(account) ?? 0) < mostHeld;
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

/** Forwards a group in one call to Temporal, as much as fits. Rejects if the group must wait. */
function createGroupForwarding(options: ForwarderOptions, plan: ForwardPlan, outage: OutageWatch) {
  const { journal, onFailed, now = Date.now } = options;
  const route = createRouting(options);

  return async (id: GroupId): Promise<CallResult> => {
    const triedAt = now();
    const keys = plan.oldestOf(id);
    // A probe is small, since incoming deliveries need the time during an outage.
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
    if (error instanceof TooManyNewOrders) {
      outage.succeeded(now()); // Temporal has said that no run follows the order
      return error.held;
    }
    if (error instanceof TooManyParked) return 'parked'; // says nothing about Temporal, which need not have been asked
    if (!outage.failed(error, triedAt, now())) throw error;
    onFailed?.(error);
    return 'postponed';
  };
}

/** The entries that the journal still has, and the keys of the others. */
function read(journal: Pick<Journal, 'read'>, keys: readonly JournalKey[]) {
  const entries: { key: JournalKey; delivery: JournaledDelivery }[] = [];
  const gone: JournalKey[] = [];
  for (const { key, delivery } of journal.read(keys)) {
    if (delivery) entries.push({ key, delivery });
    else gone.push(key);
  }
  return { entries, gone };
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
