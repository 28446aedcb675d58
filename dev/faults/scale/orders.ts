import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFaretrailClient } from '../../../src/client/index.js';
import { closedLoop } from '../../bench/closed-loop.js';
import { insist } from '../chaos/insist.js';
import { announcedAccount, type Fleet, polledAccounts } from './fleet.js';

/** An order that is followed, with its statuses at the service. Instants are milliseconds since the epoch. */
export interface LiveOrder {
  account: string;
  orderId: string;
  course: { status: string; at: number }[];
}

/** How many orders are live all the time. */
export interface Wanted {
  polled: number;
  announced: number;
}

/** Each with its share of the life of an order that is over when it comes. No ride may need somebody because it stands still. */
const statuses = { Pending: 0, Confirmed: 0.02, Driving: 0.2, Completed: 1 };
/** What two cores carry, servers and databases included. A caller that starts more gets answers too late, and asks again. */
const startsPerSecond = 5;
const lanes = 8;

/** When the order ends. */
export const endOf = ({ course }: LiveOrder): number => course.at(-1)?.at ?? Number.NaN;

/** The account is part of the id, so that requests tell it. */
export const accountOf = (orderId: string): string => orderId.slice(0, orderId.indexOf('~'));

/** How long it takes to start so many orders. */
export const rampMs = ({ polled, announced }: Wanted): number => ((polled + announced) * 1_000) / startsPerSecond;

/** Follows orders that each last `lifeMs`, and another one for each that ends. */
export function createOrders({ sandbox, client, taskQueue }: Fleet, lifeMs: number) {
  const rides = createFaretrailClient({ client, taskQueue });
  const live: LiveOrder[] = [];
  const ended: LiveOrder[] = [];
  const problems: string[] = [];

  async function begin(account: string, endsAt: number): Promise<void> {
    const now = Date.now();
    const orderId = `${account}~${randomUUID()}`;
    const stepAt = (share: number): number => (share === 0 ? now : endsAt - lifeMs * (1 - share));
    const all = Object.entries(statuses).map(([status, share]) => ({ status, at: stepAt(share) }));
    const reached = all.findLastIndex(({ at }) => at <= now);
    const course = all.slice(reached).map((step) => ({ ...step, at: Math.max(step.at, now) }));
    const script = course.map((step) => ({ status: step.status, afterMs: step.at - now }));
    const side = account === announcedAccount ? 'business' : 'partner';
    await sandbox.addOrder({ interface: side, orderId, script });
    const started = await insist(
      () => rides.follow({ account, orderId }),
      () => now + lifeMs,
    );
    if (!('value' in started)) problems.push(`order ${orderId} was not started: ${started.message}`);
    live.push({ account, orderId, course });
  }

  return {
    problems,
    /** All of them, those that have ended first. */
    all: (): LiveOrder[] => [...ended, ...live],
    /** Starts all, spread over the stages of their lives, so that from then on about as many end in each minute. */
    async beginAll(wanted: Wanted): Promise<void> {
      const from = Date.now();
      const fullAt = from + rampMs(wanted);
      const count = wanted.polled + wanted.announced;
      const accounts = Array.from({ length: count }, (_, i) => accountAt(i, wanted));
      await closedLoop({ count, inFlight: lanes, limitMs: Number.POSITIVE_INFINITY }, async (i) => {
        await sleep(Math.max(0, from + (i * 1_000) / startsPerSecond - Date.now()));
        // A step of the golden ratio spreads the ends of each account evenly.
        const endsAt = fullAt + lifeMs * ((i * 0.618_034) % 1);
        await begin(accounts[i] ?? announcedAccount, Math.min(endsAt, Date.now() + lifeMs));
      });
      live.sort((a, b) => endOf(a) - endOf(b));
    },
    /** Until it is told to stop, another order begins when one ends. */
    async keepUp(stopped: AbortSignal): Promise<void> {
      const begun = new Set<Promise<void>>();
      for (; !stopped.aborted; await sleep(200)) {
        while (live[0] !== undefined && endOf(live[0]) <= Date.now()) {
          const order = live.shift() as LiveOrder;
          ended.push(order);
          const one = begin(order.account, Date.now() + lifeMs)
            .catch((error: unknown) => void problems.push(String(error)))
            .finally(() => begun.delete(one));
          begun.add(one);
        }
      }
      await Promise.all(begun);
    },
  };
}

/** Mixes the accounts. */
function accountAt(i: number, { polled, announced }: Wanted): string {
  const announcedBefore = (count: number): number => Math.floor((count * announced) / (polled + announced));
  if (announcedBefore(i + 1) > announcedBefore(i)) return announcedAccount;
  return polledAccounts[(i - announcedBefore(i)) % polledAccounts.length] ?? polledAccounts[0];
}
