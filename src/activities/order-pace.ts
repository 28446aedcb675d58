import { activityInfo } from '@temporalio/activity';
import type { ApplicationFailure } from '@temporalio/common';
import type { Account, Cadence } from '../domain/account.js';
import { toEpoch } from '../domain/instant.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { nextReadMs } from '../domain/order/cadence.js';
import { calmMs } from '../domain/order/concern.js';
import type { LookInput } from '../domain/order/trail.js';
import type { Struggle } from '../domain/struggle.js';
import { notYet } from './failures.js';
import type { Looking } from './looking.js';

/** How reliably deliveries announce the changes of an account's orders: one record for the whole fleet. */
export interface ReliabilityOfDeliveries {
  /** Mostly from memory. Never rejects: what cannot be read is not proven. */
  of(account: Account): Promise<Reliance>;
  /** Records that a poll found a change of an announced order and no delivery had announced it. Never rejects. */
  miss(account: Account, orderId: OrderId): Promise<void>;
}

/** How far polls may rely on deliveries. */
export interface Reliance {
  /** How far the pace of an announced order may be stretched, 0 to 1. */
  earned: number;
  /** Does the record need to know of one more miss? */
  takesMisses: boolean;
}

/** Nothing is proven, and nothing is recorded. */
export const noReliance: Reliance = { earned: 0, takesMisses: false };

/** A look, and what its pace depends on. */
export interface PacedLook extends LookInput {
  reliance: Reliance;
}

/** A read after a delivery takes well below a second. */
const longestGraceMs = 5_000;
/** The grace delays the news of a change that nothing announces, so it is at most this share of the longest pause. */
const graceShare = 1 / 120;

/** So long a poll that has found a change waits for its delivery, in milliseconds. A later one was no announcement. */
export const graceMs = ({ provenMs = 0 }: Cadence): number => Math.min(longestGraceMs, provenMs * graceShare);

/** The first read comes well within this time after the start of the run. */
const firstReadMs = 60_000;

/** What a pace depends on besides the look. */
interface PaceNote {
  /** Milliseconds of the pause that are over. */
  elapsedMs?: number;
  /** When the service took the order, in milliseconds since the epoch, if that is known. */
  requestedAt?: number | null;
}

/** The pace of reads, and the time between them. */
export function createPace(account: (name: AccountName) => Account, { now, jittered, slowest }: Looking) {
  const stillSo = (status: string, input: PacedLook, { elapsedMs = 0, ...note }: PaceNote): ApplicationFailure =>
    notYet(`Still ${status}.`, jittered(paceMs(status, input, { ...note, at: now() })) - elapsedMs);

  /** The clock of another process may be ahead. */
  const msSince = (instant: string): number => Math.max(0, now() - Date.parse(instant));

  /** `at`: milliseconds since the epoch. */
  function paceMs(status: string | null, input: PacedLook, note: PaceNote & { at: number }): number {
    const { poll, watch } = account(input.account);
    const { pushed, watched, reliance } = input;
    const since = Date.parse(input.since);
    const order = { since, scheduledAt: toEpoch(input.scheduledAt), now: note.at };
    if (!watched) return nextReadMs({ ...order, status, pushed }, poll); // asked by a worker of an earlier release
    const followedSince = Date.parse(watched.followedSince);
    const requestedAt = note.requestedAt ?? null;
    const calm = calmMs({ ...order, status: status ?? '', followedSince, requestedAt, shown: watched.concern }, watch);
    const isUnchanged = since - followedSince < firstReadMs;
    const more = { earned: reliance.earned, isUnchanged, calmMs: calm };
    return nextReadMs({ ...order, ...more, status, pushed }, withAllowance(poll));
  }

  /** The longest pause holds the jitter and the wait for a delivery. */
  const withAllowance = ({ provenMs, ...poll }: Cadence): Cadence => ({
    ...poll,
    ...(provenMs && { provenMs: (provenMs - graceMs({ ...poll, provenMs })) / slowest(1) }),
  });

  /** The planned pause and the time in the queue; longer after trouble. */
  function sinceLastLook(input: PacedLook, trouble: Struggle | null): number {
    const { currentAttemptScheduledTimestampMs: dueAt } = activityInfo();
    const from = trouble ? Math.min(Date.parse(trouble.since), dueAt) : dueAt;
    return Math.round(now() - from + paceMs(input.shown.rawStatus, input, { at: from }));
  }

  return { stillSo, msSince, sinceLastLook };
}
