import type { Account } from '../../../src/domain/account.js';
import type { AttentionCode } from '../../../src/domain/attention.js';
import { readInstant } from '../../../src/domain/instant.js';
import { toOrderId } from '../../../src/domain/keys.js';
import { isSameStatus } from '../../../src/domain/order/status.js';
import type { WatchedReading } from '../../../src/domain/order/trail.js';
import type { ListedOrder, NextFinding, WatchOrderInput } from '../../../src/domain/watch.js';
import { partnerAccount } from '../../ride-api/accounts.js';
import { iso, minute } from '../temporal.js';

export const account: Account = {
  ...partnerAccount(),
  requestsPerSecond: 16,
  poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 300_000 },
};

/** What the run of an order knows. */
export interface Run {
  isOpen: boolean;
  /** It has a pending read. */
  isPending: boolean;
  /** Of release 0.2.0: visibility knows neither when its status began nor a pick-up time. */
  isEarlier: boolean;
  status: string | null;
  attention: AttentionCode | null;
  since: number;
  followedSince: number;
  scheduledAt: string | null;
  pushed: boolean;
  /** When it handed its order over the last time. */
  handedAt: number;
  /** When it read the order itself, other than at its start. */
  readAt: number;
}

export const noRun: Run = {
  ...{ isOpen: false, isPending: false, isEarlier: false, status: null, attention: null, pushed: false },
  ...{ since: 0, followedSince: 0, scheduledAt: null, readAt: 0, handedAt: 0 },
};

/** May what the run is told be older than what it has read meanwhile? As `nextReading` in the run decides it. */
export const isOutdated = ({ status, handedAt, readAt }: Run, { comparedWith }: NextFinding): boolean =>
  !isSameStatus(status, comparedWith) || readAt > Math.max(handedAt, Date.now() - minute);

/** The run records a reading, as its trail does. */
export function show(
  run: Run,
  { rawStatus, terminal, concern, details }: WatchedReading,
  at: number,
  isAnnounced = false,
) {
  run.attention = concern?.code ?? null;
  if (!isSameStatus(run.status, rawStatus)) Object.assign(run, { status: rawStatus, since: at, pushed: isAnnounced });
  run.isOpen = !terminal;
  run.scheduledAt = readInstant(details?.scheduledAt) ?? run.scheduledAt;
}

export const inputOf = (orderId: string, run: Run): WatchOrderInput => ({
  ...{ account: account.name, orderId: toOrderId(orderId), rawStatus: run.status, attention: run.attention },
  ...{ since: iso(run.since), followedSince: iso(run.followedSince), scheduledAt: run.scheduledAt, pushed: run.pushed },
});

/** What Temporal itself shows of the run. */
export function listedOf(orderId: string, run: Run): ListedOrder {
  const order = inputOf(orderId, run);
  if (!run.isEarlier) return { ...order, isExact: true };
  return { ...order, since: order.followedSince, scheduledAt: null, isExact: false };
}
