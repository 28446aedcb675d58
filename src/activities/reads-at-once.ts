import { setTimeout as pause } from 'node:timers/promises';
import type { Account, Cadence } from '../domain/account.js';
import { iso } from '../domain/instant.js';
import type { AccountName } from '../domain/keys.js';
import type { LookInput, OrderObservation } from '../domain/order/trail.js';
import { atOnceShare } from '../domain/request-budget.js';
import { type OrderActivityPorts, withConcern } from './order.js';

/** The share of an account's request budget that this process may spend on reads at once, without the account's task queue. */
export type ReadsAtOnce = ReturnType<typeof createReadsAtOnce>;

export interface ReadsAtOncePorts {
  /** The number of workers that hold the account, at least 1. */
  countWorkers(account: AccountName): Promise<number>;
  now?: () => number;
}

/** A worker that has just started is counted by the others this late. Till then all together spend at most twice the share. */
const countEveryMs = 15_000;
/** Without a newer count the process reads nothing at once. */
const countHoldsMs = 60_000;
/** Single changes come closer together than their mean: so much of the share may be spent at a time. */
const burstMs = 2_000;
const leastBurst = 1;
/** A read at once holds a workflow task of the worker open, so a slow service must not take all of them. */
const mostUnderWay = 8;
/** After a read at once that failed or was slow, reads go through the queue for so long. */
const pauseMs = 10_000;

interface Share {
  workers: { count: number; at: number } | null;
  isCounting: boolean;
  /** Reads that may begin now; grows with time. */
  saved: number;
  savedAt: number;
  underWay: number;
  notBefore: number;
}

/** Each process spends its part of the share: the share divided by the number of workers. */
export function createReadsAtOnce({ countWorkers, now = Date.now }: ReadsAtOncePorts) {
  const shares = new Map<AccountName, Share>();

  function shareOf(account: AccountName): Share {
    const share = shares.get(account) ?? {
      ...{ workers: null, isCounting: false, saved: 0, savedAt: now(), underWay: 0, notBefore: 0 },
    };
    shares.set(account, share);
    return share;
  }

  /** Counts beside the reads, which go through the queue until the first answer. */
  function keepCount(account: AccountName, share: Share): void {
    if (share.isCounting || (share.workers && now() - share.workers.at < countEveryMs)) return;
    share.isCounting = true;
    countWorkers(account)
      .then((count) => {
        share.workers = { count: Math.max(1, count), at: now() };
      })
      .catch(() => undefined) // the last count holds for a while
      .finally(() => {
        share.isCounting = false;
      });
  }

  return {
    /** Runs `read` if the account's share has room. Undefined: it has none, or the read failed. */
    async within<T>({ name, requestsPerSecond }: Account, read: () => Promise<T>): Promise<T | undefined> {
      const share = shareOf(name);
      keepCount(name, share);
      const { workers } = share;
      if (!workers || now() - workers.at > countHoldsMs) return undefined;
      const perMs = (requestsPerSecond * atOnceShare) / workers.count / 1_000;
      const most = Math.max(leastBurst, perMs * burstMs);
      share.saved = Math.min(most, share.saved + (now() - share.savedAt) * perMs);
      share.savedAt = now();
      if (share.saved < 1 || share.underWay >= mostUnderWay || now() < share.notBefore) return undefined;
      share.saved -= 1;
      share.underWay += 1;
      try {
        return await read();
      } catch {
        share.notBefore = now() + pauseMs;
        return undefined;
      } finally {
        share.underWay -= 1;
      }
    },
  };
}

/** The workflow task that waits for the read ends well before its timeout of ten seconds. */
const withinMs = 2_500;

export interface ReadAtOncePorts extends Pick<OrderActivityPorts, 'account' | 'readOrder' | 'readSince'> {
  readsAtOnce: ReadsAtOnce;
  holds(account: AccountName): boolean;
  now?: () => number;
}

/** The result of a read at once, and the pace of the reads that follow. */
export interface SeenAtOnce {
  seen: OrderObservation;
  cadence: Cadence;
}

export type ReadAtOnceActivities = ReturnType<typeof createReadAtOnceActivities>;

export const createReadAtOnceActivities = ({
  account,
  holds,
  readOrder,
  readSince,
  readsAtOnce,
  now = Date.now,
}: ReadAtOncePorts) => ({
  /**
   * One read outside the account's task queue, as a local activity of the run. Null where it gives no plain answer: the share of the budget is
   * spent, the account must wait, this process does not hold it, or there was trouble. Then the run reads through the queue.
   */
  async readOrderAtOnce(input: LookInput): Promise<SeenAtOnce | null> {
    if (!holds(input.account)) return null;
    const held = account(input.account);
    const seen = await readsAtOnce.within(held, async (): Promise<OrderObservation> => {
      const signal = AbortSignal.timeout(withinMs);
      const reading = await orLate(readOrder(held, input.orderId, { signal }));
      const at = now();
      const watched = await withConcern({ reading, at, wanted: input, asked: null }, { account, readSince });
      return { kind: 'reading', reading: watched, at: iso(at), reads: 1 };
    });
    return seen ? { seen, cadence: held.poll } : null;
  },
});

/** The wait for a token does not heed the signal. */
async function orLate<T>(answer: Promise<T>): Promise<T> {
  const late = new AbortController();
  try {
    return await Promise.race([
      answer,
      pause(withinMs, undefined, { signal: late.signal }).then((): never => {
        throw new Error('too late');
      }),
    ]);
  } finally {
    late.abort();
  }
}
