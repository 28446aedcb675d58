import type { Client } from '@temporalio/client';
import type { ReliabilityOfDeliveries, Reliance } from '../activities/index.js';
import { type Account, actsForCompany, type Cadence } from '../domain/account.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { publishedReliability } from '../domain/published.js';
import { earnedShare, type ReliabilityMemo } from '../domain/subscription/reliability.js';
import { subscriptionId } from '../domain/workflow-ids.js';
import { deliveryMissedSignal } from '../workflows/messages.js';
import { runOf } from './runs.js';

/** A worker learns of a miss so much later than the run: half a minute, or less where even the usual pause is short. */
const freshMs = ({ pushedMs }: Cadence): number => Math.min(30_000, pushedMs / 4);
/** It asks again so soon after a read that failed. */
const failedMs = 5_000;
/** Polls wait for a read. */
const withinMs = 2_000;
/** A process tells the run of one miss within this time. */
const toldMs = (poll: Cadence): number => 2 * freshMs(poll);
/** While nothing is proven, a miss within this time says enough: more of them would only be work for the run. */
const knownMissMs = ({ provenMs = 0 }: Cadence): number => provenMs;
const dayMs = 86_400_000;
/** The clocks of processes may differ by so much. */
const clocksDifferMs = 60_000;

interface ReliabilityPorts {
  client: Client;
  taskQueue: string;
  now?: () => number;
  /** Metrics of this worker. */
  watch?: ReliabilityWatch;
}

/** What this process reads and finds of an account, for its metrics. */
export interface ReliabilityWatch {
  countMiss(about: { account: string }): void;
  /** 0 to 1. */
  showEarned(about: { account: string; earned: number }): void;
}

/** What a process knows of one account. Instants are milliseconds since the epoch. */
interface Held {
  /** Null: no run has published any. Undefined: it cannot be read. */
  memo: ReliabilityMemo | null | undefined;
  /** Is there a run that records misses? */
  isRecorded: boolean;
  staleAt: number;
  reading: Promise<void> | null;
  /** The last miss that this process has found. */
  miss: { orderId: OrderId; at: number; isTold: boolean } | null;
}

const nothing: Reliance = { earned: 0, takesMisses: false };

/** See `ReliabilityOfDeliveries`: the runs of `subscription`, read by their memo. One for each process. */
export function createReliability({
  client,
  taskQueue,
  now = Date.now,
  watch,
}: ReliabilityPorts): ReliabilityOfDeliveries {
  const accounts = new Map<AccountName, Held>();
  const runFor = (account: AccountName) => runOf(client, subscriptionId({ account, eventType: 'status_changed' }));

  async function heldOf({ name: account, poll }: Account): Promise<Held> {
    const held = accounts.get(account) ?? { memo: undefined, isRecorded: false, staleAt: 0, reading: null, miss: null };
    accounts.set(account, held);
    if (now() >= held.staleAt) {
      held.reading ??= read(account, held, freshMs(poll));
      await held.reading;
    }
    return held;
  }

  async function read(account: AccountName, held: Held, forMs: number): Promise<void> {
    try {
      const found = await runFor(account).find({ withinMs });
      // The counts are those of the orders on one task queue.
      held.isRecorded = found?.isOpen === true && found.taskQueue === taskQueue;
      held.memo = held.isRecorded ? publishedReliability(found?.memo) : null;
      held.staleAt = now() + forMs;
      if (held.miss && !held.miss.isTold) await tell(account, held);
      watch?.showEarned({ account, earned: earnedNow(held) });
    } catch {
      held.memo = undefined;
      held.staleAt = now() + Math.min(failedMs, forMs);
    } finally {
      held.reading = null;
    }
  }

  async function tell(account: AccountName, { miss }: Held): Promise<void> {
    if (!miss) return;
    const { orderId } = miss;
    // Without an open run nothing is proven.
    await runFor(account).signal(deliveryMissedSignal, { orderId }, { withinMs });
    miss.isTold = true;
  }

  /** The run may not have published yet what this process has found, or not have got it. */
  const isOvertaken = ({ memo, miss }: Held): boolean =>
    miss !== null &&
    now() - miss.at < dayMs &&
    (!memo?.missedAt || Date.parse(memo.missedAt) < miss.at - clocksDifferMs);

  const earnedNow = (held: Held): number => (held.memo && !isOvertaken(held) ? earnedShare(held.memo, now()) : 0);

  function takesMisses(held: Held, poll: Cadence): boolean {
    if (!held.isRecorded || (held.miss && now() - held.miss.at < toldMs(poll))) return false;
    const missedAt = held.memo?.missedAt ?? null;
    return earnedNow(held) > 0 || missedAt === null || now() - Date.parse(missedAt) >= knownMissMs(poll);
  }

  return {
    async of(account) {
      if (!learns(account)) return nothing;
      const held = await heldOf(account);
      return { earned: earnedNow(held), takesMisses: takesMisses(held, account.poll) };
    },

    async miss(account, orderId) {
      watch?.countMiss({ account: account.name });
      const held = await heldOf(account);
      if (!takesMisses(held, account.poll)) return; // another poll has told the run meanwhile
      held.miss = { orderId, at: now(), isTold: false };
      await tell(account.name, held).catch(() => {
        held.staleAt = 0; // tells it again with the next read
      });
    },
  };
}

/** Only companies can subscribe. A longest pause below the usual one switches learning off. */
const learns = ({ interface: at, poll }: Account): boolean =>
  actsForCompany[at] && (poll.provenMs ?? 0) > poll.pushedMs;
