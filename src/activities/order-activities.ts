import { activityInfo, cancellationSignal, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { Account } from '../domain/account.js';
import { nextReadMs } from '../domain/cadence.js';
import { readInstant } from '../domain/follow-input.js';
import type { AccountName } from '../domain/keys.js';
import type { LookInput, OrderObservation, OrderReading } from '../domain/observation.js';
import { isSameStatus, toRideStatus } from '../domain/ride-status.js';
import { judge, type Struggle, struggleAfter } from '../domain/struggle.js';
import { notYet, toDelay } from './not-yet.js';
import type { OrderReader } from './order-reader.js';
import { toFailureType, toReadTrouble } from './read-trouble.js';

export interface OrderActivityPorts {
  /** Throws a retryable failure when this process does not hold the account. */
  account(name: AccountName): Account;
  readOrder: OrderReader;
  readShown: ShownReader;
  now?: () => number;
  random?: () => number;
}

/** What a run of `followOrder` shows now, and how many events it has. */
export type ShownReader = (run: { workflowId: string; runId: string }) => Promise<Shown>;

export interface Shown {
  /** In our words; null before the first read. */
  status: string | null;
  runLength: number;
}

export type OrderActivities = ReturnType<typeof createOrderActivities>;

/** Polls that began together drift apart by up to a tenth of their pace. */
const jitterShare = 0.1;

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/** How one of the activities looks. */
interface Manner {
  /** Somebody waits for the answer: everything is one, also trouble that is shown already. */
  isOneShot: boolean;
  /** When the run read the order last: the first attempt only waits for the rest of the pace. Null: it reads at once. */
  lastReadAt: string | null;
}

/**
 * Activities that look at an order. They complete only with news; everything else is left to Temporal's retry, which
 * writes no history. What must be remembered from one attempt to the next stands in the heartbeat details.
 */
export function createOrderActivities({
  account,
  readOrder,
  readShown,
  now = Date.now,
  random = Math.random,
}: OrderActivityPorts) {
  async function look(input: LookInput, { isOneShot, lastReadAt }: Manner): Promise<OrderObservation> {
    const { attempt, heartbeatDetails } = activityInfo();
    const reads = lastReadAt === null ? attempt : attempt - 1;
    const before = (heartbeatDetails ?? null) as Struggle | null;
    const shown = input.shown.attention;
    const raised = before ? raiseOrWait(before) : waitUntil(input.notBefore);
    if (raised) return raised;
    if (lastReadAt !== null && attempt === 1)
      throw stillSo(toRideStatus(input.shown.rawStatus ?? ''), input, msSince(lastReadAt));
    const run = input.pushed && !isOneShot ? await askRun(readShown) : null;
    const current = run ? { ...input, shown: { ...input.shown, rawStatus: run.status } } : input;
    let reading: OrderReading;
    try {
      reading = await readOrder(account(input.account), input.orderId, cancellationSignal());
    } catch (error) {
      const trouble = toReadTrouble(error, current, now());
      if (!trouble) throw error;
      const struggle = struggleAfter(before, trouble, { shown, now: now(), random: random() });
      if (isOneShot && struggle.code === shown) return toObservation(struggle, reads, now());
      heartbeat(struggle);
      return raiseOrWait(struggle) ?? fail(struggle, 1);
    }
    if (before) heartbeat(null);
    if (!isOneShot && !isNewsTo(current, reading)) throw stillSo(reading.status, current, 0);
    const gapMs = reads > 1 ? { gapMs: sinceLastLook(current, before) } : {};
    return { kind: 'reading', reading, at: iso(now()), reads, ...gapMs, ...(run ? { runLength: run.runLength } : {}) };

    function raiseOrWait(struggle: Struggle): OrderObservation | undefined {
      const verdict = judge(struggle, shown, now());
      if (verdict.act === 'wait') return fail(struggle, verdict.waitMs);
      return verdict.act === 'raise' ? toObservation(struggle, reads, now()) : undefined;
    }
  }

  function waitUntil(notBefore: string | null): undefined {
    const waitMs = notBefore === null ? 0 : Date.parse(notBefore) - now();
    if (waitMs > 0) throw notYet(`Waits until ${notBefore}.`, waitMs);
  }

  function stillSo(status: string, input: LookInput, elapsedMs: number): ApplicationFailure {
    return notYet(`Still ${status}.`, paceMs(status, input, now()) * (1 + random() * jitterShare) - elapsedMs);
  }

  /** The clock of another process may go ahead. */
  const msSince = (instant: string): number => Math.max(0, now() - Date.parse(instant));

  function paceMs(status: string | null, { since, scheduledAt, pushed, account: name }: LookInput, at: number): number {
    const pickup = scheduledAt === null ? null : Date.parse(scheduledAt);
    return nextReadMs({ status, since: Date.parse(since), scheduledAt: pickup, pushed, now: at }, account(name).poll);
  }

  /** The pause that was wished for, and what the queue added. Trouble since then makes it longer. */
  function sinceLastLook(input: LookInput, trouble: Struggle | null): number {
    const { currentAttemptScheduledTimestampMs: dueAt } = activityInfo();
    const from = trouble ? Math.min(Date.parse(trouble.since), dueAt) : dueAt;
    return Math.round(now() - from + paceMs(input.shown.rawStatus, input, from));
  }

  return {
    /**
     * Waits for a status other than the one shown, a moved pick-up, or attention to come or go. `lastReadAt`, an ISO
     * instant: the run has just read the order, so the first read comes a pace later.
     */
    observeOrder: (input: LookInput, lastReadAt: string | null = null): Promise<OrderObservation> =>
      look(input, { isOneShot: false, lastReadAt }),

    /** One read, whatever it says. */
    readOrder: (input: LookInput): Promise<OrderObservation> => look(input, { isOneShot: true, lastReadAt: null }),
  };
}

/** A poll goes on when a delivery has led to a change, so the run may show another status than when the poll began. */
async function askRun(readShown: ShownReader): Promise<Shown | null> {
  const { workflowExecution } = activityInfo();
  return workflowExecution ? await readShown(workflowExecution) : null;
}

function isNewsTo({ shown, scheduledAt }: LookInput, { status, terminal, details }: OrderReading): boolean {
  const pickup = readInstant(details?.scheduledAt);
  const isMoved = pickup !== undefined && pickup !== scheduledAt;
  return terminal || isMoved || shown.attention !== null || !isSameStatus(status, shown.rawStatus);
}

function fail({ code, message, since, failures }: Struggle, waitMs: number): never {
  throw ApplicationFailure.create({
    type: toFailureType(code),
    message: `${message} Attempt ${failures} since ${since}.`,
    nextRetryDelay: toDelay(waitMs),
  });
}

function toObservation({ code, message, since, notBefore }: Struggle, reads: number, now: number): OrderObservation {
  if (code === 'orderNotFound') return { kind: 'unknownOrder', reads };
  // The next look begins in a new activity, which must keep to the wait of this one.
  const later = Date.parse(notBefore) > now ? notBefore : iso(now);
  return { kind: 'trouble', attention: { code, message, since }, notBefore: later, reads };
}
