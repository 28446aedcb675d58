import type { Shown } from '../../../src/activities/watch/watched-order.js';
import type { Account } from '../../../src/domain/account.js';
import { readInstant } from '../../../src/domain/instant.js';
import { toOrderId } from '../../../src/domain/keys.js';
import { isSameStatus } from '../../../src/domain/order/status.js';
import type { WatchedReading } from '../../../src/domain/order/trail.js';
import type { NextFinding, WatchOrderInput } from '../../../src/domain/watch.js';
import { partnerAccount } from '../../ride-api/accounts.js';
import { iso, minute } from '../temporal.js';

export const account: Account = {
  ...partnerAccount(),
  requestsPerSecond: 16,
  poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 300_000 },
};

/** What the run of an order knows. */
export interface Run extends Shown {
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
  ...{ isOpen: false, isPending: false, runId: 'r', status: null, attention: null, isAnnounced: false },
  ...{ pushed: false, since: 0, followedSince: 0, scheduledAt: null, readAt: 0 },
  handedAt: 0,
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
  if (!isSameStatus(run.status, rawStatus))
    Object.assign(run, { status: rawStatus, since: at, isAnnounced, pushed: isAnnounced });
  run.isOpen = !terminal;
  run.scheduledAt = readInstant(details?.scheduledAt) ?? run.scheduledAt;
}

export const inputOf = (orderId: string, run: Run): WatchOrderInput => ({
  ...{ account: account.name, orderId: toOrderId(orderId), rawStatus: run.status, attention: run.attention },
  ...{ since: iso(run.since), followedSince: iso(run.followedSince), scheduledAt: run.scheduledAt, pushed: run.pushed },
});

/** Visibility knows neither when a status began nor a pick-up time. */
export const listedOf = (orderId: string, run: Run): WatchOrderInput => ({
  ...inputOf(orderId, run),
  ...{ since: iso(run.followedSince), scheduledAt: null, pushed: run.isAnnounced },
});
