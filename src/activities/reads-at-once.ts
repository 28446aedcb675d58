import { setTimeout as sleep } from 'node:timers/promises';
import { interfaceTerms } from '../contracts/interface-terms.js';
import type { Account, Cadence } from '../domain/account.js';
import { iso } from '../domain/instant.js';
import type { AccountName } from '../domain/keys.js';
import type { LookInput, OrderObservation } from '../domain/order/trail.js';
import { atOnceSavedMs, budgetShares } from '../domain/request-budget.js';
import { QuietTime } from './authorized-call.js';
import { type OrderActivityPorts, withConcern } from './order.js';

/** The share of the accounts' request budgets that this process may spend on reads at once. */
export type ReadsAtOnce = ReturnType<typeof createReadsAtOnce>;

export interface ReadsAtOncePorts {
  /** The number of workers that hold the account. */
  countWorkers(account: AccountName): Promise<number>;
  now?: () => number;
}

/** A worker that has just started is counted this late by the others, and the fleet spends more than the share till then. */
const countEveryMs = 15_000;
/** A read waits for a count where there is no newer one, but not for long: without it the process reads nothing at once. */
const countHoldsMs = 60_000;
const countWithinMs = 500;
/** A read at once keeps a workflow task open. A slow service must not hold many of the 40 of a worker. */
const mostOfAccount = 20;
const mostOfAll = 30;
/** After a read at once that failed or took a second, the reads of its account go through the queue for a while; after a wait, as long as it lasts. */
const slowMs = 1_000;
const pauseMs = 10_000;

interface Share {
  workers: { count: number; at: number } | null;
  /** Settles when the count that is under way has ended. */
  counting: Promise<void> | null;
  /** Reads that may begin now, and when that was so. */
  saved: { reads: number; at: number };
  underWay: number;
  notBefore: number;
}

/** Each process spends its part of an account's share: the share divided by the number of workers. */
export function createReadsAtOnce({ countWorkers, now = Date.now }: ReadsAtOncePorts) {
  const shares = new Map<AccountName, Share>();
  let underWay = 0;

  function shareOf(account: AccountName): Share {
    const none = { workers: null, counting: null, saved: { reads: 1, at: now() }, underWay: 0, notBefore: 0 };
    const share: Share = shares.get(account) ?? none;
    shares.set(account, share);
    return share;
  }

  const ageOf = ({ workers }: Share): number => (workers ? now() - workers.at : Number.POSITIVE_INFINITY);

  /** Counts beside the reads as long as the last count holds. */
  async function keepCount(account: AccountName, share: Share): Promise<void> {
    if (ageOf(share) < countEveryMs) return;
    share.counting ??= countWorkers(account)
      .then((count) => {
        share.workers = { count: Math.max(1, count), at: now() };
      })
      .catch(() => undefined) // the last count holds for a while
      .finally(() => {
        share.counting = null;
      });
    if (ageOf(share) > countHoldsMs) await Promise.race([share.counting, sleep(countWithinMs)]);
  }

  /** Takes one read from what is saved. */
  function take(share: Share, account: Account): boolean {
    const { workers } = share;
    if (!workers || ageOf(share) > countHoldsMs) return false;
    const perMs =
      (account.requestsPerSecond * budgetShares(interfaceTerms[account.interface]).atOnce) / workers.count / 1_000;
    const reads = Math.min(Math.max(1, perMs * atOnceSavedMs), share.saved.reads + (now() - share.saved.at) * perMs);
    const mayRead = reads >= 1 && share.underWay < mostOfAccount && underWay < mostOfAll && now() >= share.notBefore;
    share.saved = { reads: mayRead ? reads - 1 : reads, at: now() };
    return mayRead;
  }

  return {
    /** Runs `read` if the account's share has room. Undefined: it has none, or the read failed. */
    async within<T>(account: Account, read: () => Promise<T>): Promise<T | undefined> {
      const share = shareOf(account.name);
      await keepCount(account.name, share);
      if (!take(share, account)) return undefined;
      const startedAt = now();
      share.underWay += 1;
      underWay += 1;
      try {
        const answer = await read();
        if (now() - startedAt >= slowMs) share.notBefore = now() + pauseMs;
        return answer;
      } catch (error) {
        share.notBefore = now() + (error instanceof QuietTime ? error.leftMs : pauseMs);
        return undefined;
      } finally {
        share.underWay -= 1;
        underWay -= 1;
      }
    },
  };
}

/** The workflow task that waits for the read ends well before its timeout of ten seconds. */
const withinMs = 2_500;

export interface ReadAtOncePorts extends Pick<OrderActivityPorts, 'account' | 'readOrder' | 'readSince' | 'stores'> {
  readsAtOnce: ReadsAtOnce;
  holds(account: AccountName): boolean;
  now?: () => number;
}

/** The result of a read at once. */
export interface SeenAtOnce {
  seen: OrderObservation;
  /** The pace of the polls that follow; null where nothing is announced, so that the next change is surely found by a poll. */
  cadence: Cadence | null;
}

export type ReadAtOnceActivities = ReturnType<typeof createReadAtOnceActivities>;

export const createReadAtOnceActivities = (ports: ReadAtOncePorts) => ({
  /**
   * One read outside the account's task queue, as a local activity of the run. Null where it gives no plain answer: the share of the budget is
   * spent, the account must wait, this process does not hold it, or there was trouble. Then the run reads through the queue.
   */
  async readOrderAtOnce(input: LookInput): Promise<SeenAtOnce | null> {
    const { account, holds, readsAtOnce, now = Date.now } = ports;
    if (!holds(input.account)) return null;
    const held = account(input.account);
    const seen = await readsAtOnce.within(held, async (): Promise<OrderObservation> => {
      const reading = await inTime((signal) => ports.readOrder(held, input.orderId, { signal }));
      const at = now();
      return {
        ...{ kind: 'reading', at: iso(at), reads: 1 },
        ...(ports.stores ? { stores: true } : {}),
        reading: await withConcern({ reading, at, wanted: input, asked: null }, ports),
      };
    });
    return seen ? { seen, cadence: interfaceTerms[held.interface].announcesChanges ? held.poll : null } : null;
  },
});

/** Aborts after `withinMs`, and does not wait longer: the search for a token heeds no signal. */
function inTime<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const giveUp = new AbortController();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error('no answer in time'));
      giveUp.abort();
    }, withinMs);
    act(giveUp.signal)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
