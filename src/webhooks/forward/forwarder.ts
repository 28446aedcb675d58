import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../clock.js';
import type { Delivery } from '../../domain/delivery.js';
import { shares } from '../../domain/shares.js';
import { createBuckets } from '../buckets.js';
import { TemporalUnavailable } from '../delivery-port.js';
import type { JournalKey } from '../journal/disk.js';
import { JournalError } from '../journal/folder.js';
import type { Journal, JournalEntry } from '../journal/journal.js';
import { type CallResult, ForwardPlan, type Group, oldestOf } from './plan.js';
import { createRouting, type Room, type RoutingPorts, ShareUsedUp, SignalsPaused } from './routing.js';

export interface ForwarderOptions extends RoutingPorts {
  journal: Pick<Journal, 'keysAfter' | 'read' | 'remove' | 'onAppend' | 'heldOf'>;
  /** An attempt to forward a group failed. For metrics and logs, so the error holds no content. */
  onFailed?: (error: Error) => void;
  /** Temporal as a whole takes no deliveries (true), or takes them again (false). */
  onOutage?: (isOut: boolean) => void;
  /** How many more runs of an account may start, or deliveries be parked; default: any number. */
  room?: Room;
  /** The most groups in flight, one call to Temporal each. Default 64. */
  concurrency?: number;
}

/** Carries deliveries from the journal to Temporal. */
export type Forwarder = ReturnType<typeof createForwarder>;

/** Short beside rests of a second and probes of half a second. It runs only while a group waits. */
const tickMs = 100;

/** Forwards group by group, each delivery at least once. A delivery leaves the journal only after Temporal has it. */
export function createForwarder(options: ForwarderOptions) {
  const { journal, onFailed, concurrency = 64, room = () => Number.POSITIVE_INFINITY } = options;
  const plan = new ForwardPlan(journal, monotonicMs);
  const outage = createOutageWatch(concurrency, options.onOutage);
  const forwardOldest = createGroupForwarding(options, outage);
  const { waitingPerSecond: perSecond } = shares.account;
  const beyond = createBuckets({ perSecond, burstSeconds: 1, monotonic: monotonicMs });
  const calls = new Set<Promise<void>>();
  let tick: NodeJS.Timeout | undefined;
  let isRunning = false;

  function tryMore(): void {
    if (!isRunning) return;
    try {
      while (outage.mayTry(plan.inFlight())) {
        const group = plan.take();
        if (group === undefined) break;
        outage.tried();
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
    const { result, gone } = await forwardOldest(group).catch((error: Error): GroupForwarded => {
      onFailed?.(error);
      return { result: 'failed', gone: [] };
    });
    plan.over(group, result, gone);
    tryMore();
  }

  return {
    /** The deliveries that wait for a share of their account. */
    waiting: plan.waiting,

    /**
     * May the journal take it? Not one that cannot be parked soon, and few of an account of which very many wait or have not been tried. One
     * that has proved itself waits behind no other, and during an outage all wait.
     */
    hasRoomFor({ account, parkReason, isProven }: Delivery): boolean {
      const { toPark, unproven } = journal.heldOf(account);
      if (parkReason !== undefined) return room('parked', account, isProven) > toPark;
      return isProven || outage.isOut() || unproven < shares.account.waiting || beyond.take(account, 1);
    },

    /** Does Temporal take deliveries that the journal has no room for? A run that follows the order can take them at once. */
    mayGoPast: (error: unknown): boolean =>
      error instanceof JournalError && error.code === 'JournalFull' && !outage.isOut(),

    start(): void {
      isRunning = true;
      journal.onAppend((key) => {
        plan.noteAppend(key);
        tryMore();
      });
      tryMore();
    },

    /** Starts no more calls and waits for those in flight, at most `limitMs`. The other deliveries stay in the journal. */
    async stop(limitMs: number): Promise<void> {
      isRunning = false;
      clearTimeout(tick);
      tick = undefined;
      await Promise.race([Promise.all(calls), sleep(limitMs, undefined, { ref: false })]);
    },
  };
}

interface GroupForwarded {
  result: CallResult;
  gone: JournalKey[];
}

/** Some 20,000 deliveries, or 2 MB. */
const readsPerCall = 4;

/** Reads as many entries as one call carries: all that came for a run during a pause go along in one signal. */
function readMany(journal: ForwarderOptions['journal'], keys: readonly JournalKey[]): JournalEntry[] {
  const entries: JournalEntry[] = [];
  for (let reads = 0; reads < readsPerCall && entries.length < keys.length; reads += 1) {
    entries.push(...journal.read(keys.slice(entries.length)));
  }
  return entries;
}

/** Forwards the oldest deliveries of a group in one call to Temporal, as many as fit. Gives those that the journal no longer has. Rejects
 *  while the journal cannot be used. */
function createGroupForwarding(
  options: ForwarderOptions,
  outage: ReturnType<typeof createOutageWatch>,
): (group: Group) => Promise<GroupForwarded> {
  const { journal, onFailed } = options;
  const route = createRouting(options);

  return async (group) => {
    const triedAt = monotonicMs();
    // A probe is small, since incoming deliveries need the time during an outage.
    const entries = outage.isOut() ? journal.read(oldestOf(group).slice(0, 1)) : readMany(journal, oldestOf(group));
    const { done, error } = await route(entries.flatMap(({ delivery }) => delivery ?? []));
    const gone = entries.flatMap(({ key, delivery }) => (delivery === null || done.has(delivery) ? [key] : []));
    if (done.size > 0) {
      outage.succeeded();
      await journal.remove(gone);
    }
    if (!error) return { result: 'succeeded', gone };
    if (error instanceof ShareUsedUp) {
      if (error.reason === 'newOrders') outage.succeeded(); // Temporal has said that no run follows the order
      return { result: error.reason, gone };
    }
    if (error instanceof SignalsPaused) return { result: error, gone };
    onFailed?.(error);
    return { result: outage.failed(error, triedAt) ? 'postponed' : 'failed', gone };
  };
}

/** The forwarder sees a recovery within this and the time of one call. */
const probeEveryMs = 500;
/** A call that hangs takes 5 s, so ten may be in flight when the next one is due. */
const maxProbes = 12;
/** So many failures without a success count as an outage, whatever their errors say. */
const failuresInARow = 16;

/** Does Temporal as a whole take deliveries? During an outage few calls go out, to see its end. */
function createOutageWatch(concurrency: number, onChange: (isOut: boolean) => void = () => undefined) {
  let isOut = false;
  let inARow = 0;
  let lastSuccessAt = Number.NEGATIVE_INFINITY;
  let probeAt = Number.NEGATIVE_INFINITY;

  function change(to: boolean): void {
    isOut = to;
    onChange(to);
  }

  return {
    isOut: (): boolean => isOut,
    /** May the forwarder try one more group, with so many in flight? */
    mayTry(inFlight: number): boolean {
      if (!isOut) return inFlight < concurrency;
      return inFlight < Math.min(maxProbes, concurrency) && monotonicMs() >= probeAt;
    },
    /** The forwarder tries a group now. */
    tried(): void {
      if (isOut) probeAt = monotonicMs() + probeEveryMs;
    },
    succeeded(): void {
      inARow = 0;
      lastSuccessAt = monotonicMs();
      if (isOut) change(false);
    },
    /** True: the outage is the cause, and not the group. */
    failed(error: Error, triedAt: number): boolean {
      inARow += 1;
      // If another group succeeded meanwhile, this group is the cause, whatever the error says.
      const isOutage = error instanceof TemporalUnavailable && lastSuccessAt < triedAt;
      if (!isOut && (isOutage || inARow >= failuresInARow)) {
        probeAt = monotonicMs() + probeEveryMs;
        change(true);
      }
      return isOutage;
    },
  };
}
