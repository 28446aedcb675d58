import { activityInfo, cancellationSignal } from '@temporalio/activity';
import type { ApplicationFailure } from '@temporalio/common';
import { interfaceTerms } from '../contracts/interface-terms.js';
import type { Account } from '../domain/account.js';
import { iso, readInstant } from '../domain/instant.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { nextReadMs } from '../domain/order/cadence.js';
import { isSameStatus, toRideStatus } from '../domain/order/status.js';
import type { LookInput, OrderObservation, OrderReading } from '../domain/order/trail.js';
import type { Struggle } from '../domain/struggle.js';
import { RideApiError } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { type AuthorizedCall, QuietTime, type QuietTimes } from './authorized-call.js';
import { notYet } from './failures.js';
import { createLooking, type Looking, type LookingPorts, toReadTrouble } from './looking.js';

/** How a read is made. */
interface ReadManner {
  signal?: AbortSignal;
  /** Sent whatever the account has to wait for. */
  isThrough?: boolean;
}

/** One read of an order with the fleet's token. Throws the errors of the ride API, `TokenUnavailable`, `QuietTime`. */
export type OrderReader = (account: Account, orderId: OrderId, manner?: ReadManner) => Promise<OrderReading>;

/** Whether look-ups of orders work at all for an account: from outside, a wrong path and an unknown order look the same. */
export interface ProvenPaths {
  prove(account: AccountName, orderId: OrderId): void;
  /** Has this process read an order of the account, other than this one, since then (epoch milliseconds)? */
  isProven(account: AccountName, since: number, orderId: OrderId): boolean;
}

/** Kept in the memory of the process: another worker may run with another contract profile. */
export function createProvenPaths(now: () => number = Date.now): ProvenPaths {
  /** The last two orders that were read; one of them is another one than that in question. */
  const lastRead = new Map<AccountName, { orderId: OrderId; at: number }[]>();
  return {
    prove(account, orderId) {
      const others = (lastRead.get(account) ?? []).filter((read) => read.orderId !== orderId);
      lastRead.set(account, [{ orderId, at: now() }, ...others].slice(0, 2));
    },
    isProven: (account, since, orderId) =>
      (lastRead.get(account) ?? []).some((read) => read.orderId !== orderId && read.at >= since),
  };
}

interface OrderReaderPorts {
  rideApi: Pick<RideApi, 'readOrder' | 'orderScope'>;
  call: AuthorizedCall;
  provenPaths: ProvenPaths;
}

/** A reader that shares tokens and quiet times with the other calls of the account. */
export const createOrderReader =
  ({ rideApi, call, provenPaths }: OrderReaderPorts): OrderReader =>
  async (account, orderId, { signal, isThrough } = {}) => {
    const read = (token: string) => rideApi.readOrder(account, orderId, token, signal);
    const reading = await call(account, rideApi.orderScope(account), 'readOrder', read, isThrough);
    provenPaths.prove(account.name, orderId);
    return reading;
  };

export interface OrderActivityPorts extends LookingPorts {
  readOrder: OrderReader;
  readShown: ShownReader;
  quietTimes: Pick<QuietTimes, 'leftMs' | 'takeTurn'>;
  provenPaths: Pick<ProvenPaths, 'isProven'>;
}

/** What a run of `followOrder` shows now, and how many events it has. */
export type ShownReader = (run: { workflowId: string; runId: string }) => Promise<Shown>;

export interface Shown {
  /** In our words; null before the first read. */
  status: string | null;
  runLength: number;
}

export type OrderActivities = ReturnType<typeof createOrderActivities>;

/** An order that was made a moment ago is found on all replicas of the service long before that. */
const unknownAfterMs = 5 * 60_000;
/** More than the pause between two looks for an order that is not found: the path was right between the two. */
const provenWithinMs = 90_000;

/** A wait that began just now does not hold up a person: the next attempt takes their turn. */
const turnPauseMs = 100;

/** What a read found. */
interface Found {
  reading: OrderReading;
  /** What the run shows by then, of a poll that asked it. */
  run: Shown | null;
  /** The input of the look, with that. */
  wanted: LookInput;
}

/** How one of the activities looks. */
interface Manner {
  /** A caller waits for the answer: everything is one, also trouble that the run shows already. */
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
  quietTimes,
  provenPaths,
  ...ports
}: OrderActivityPorts) {
  const looking = createLooking(ports);
  const { now } = looking;
  const { stillSo, msSince, sinceLastLook } = createPace(account, looking);

  async function look(input: LookInput, manner: Manner): Promise<OrderObservation> {
    const { attempt } = activityInfo();
    const reads = manner.lastReadAt === null ? attempt : attempt - 1;
    const shown = input.shown.attention;
    const before = looking.leftBehind();
    const lookup = {
      orderId: input.orderId,
      operation: interfaceTerms[account(input.account).interface].readOperation,
    };
    const isPathProven = isProven(input, before, { provenPaths, now: now() });
    const show = (struggle: Struggle): OrderObservation => {
      const { code, message, since } = struggle;
      return { kind: 'trouble', attention: { code, message, since }, notBefore: looking.nextLookAt(struggle), reads };
    };
    return await looking.look<Found, OrderObservation>({
      shown,
      before,
      read: () => read(input, manner, before),
      answer({ reading, run, wanted }) {
        if (!manner.isOneShot && !isNewsTo(wanted, reading)) throw stillSo(reading.status, wanted, 0);
        const gapMs = reads > 1 ? { gapMs: sinceLastLook(wanted, before) } : {};
        return { kind: 'reading', reading, at: iso(now()), reads, ...gapMs, ...(run && { runLength: run.runLength }) };
      },
      toTrouble: (error) => toReadTrouble(error, { account: input.account, lookup }, now()),
      settle(struggle, error) {
        if (isPathProven && isUnknown(error, struggle, now())) return { kind: 'unknownOrder', reads };
        // A wait is no answer to a caller that wants a read.
        const isAnswer = manner.isOneShot && struggle.code === shown && !(error instanceof QuietTime);
        return isAnswer ? show(struggle) : undefined;
      },
      show,
    });
  }

  async function read(input: LookInput, manner: Manner, before: Struggle | null): Promise<Found> {
    const isThrough = goAhead(input, before, { looking, quietTimes });
    if (manner.lastReadAt !== null && activityInfo().attempt === 1)
      throw stillSo(toRideStatus(input.shown.rawStatus ?? ''), input, msSince(manner.lastReadAt));
    const run = input.pushed && !manner.isOneShot ? await askRun(readShown) : null;
    const wanted = run ? { ...input, shown: { ...input.shown, rawStatus: run.status } } : input;
    try {
      const options = { signal: cancellationSignal(), isThrough };
      return { reading: await readOrder(account(input.account), input.orderId, options), run, wanted };
    } catch (error) {
      if (error instanceof QuietTime && input.forPerson) looking.wait(Math.min(error.leftMs, turnPauseMs));
      throw error;
    }
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

/**
 * May a 404 mean that the order does not exist? Found out before the look: another order may be read in the moment in which the
 * path is mended, and this one just before.
 */
function isProven(
  { mayBeUnknown, account, orderId }: LookInput,
  before: Struggle | null,
  { provenPaths, now }: Pick<OrderActivityPorts, 'provenPaths'> & { now: number },
): boolean {
  if (!mayBeUnknown || before?.code !== 'orderNotFound') return false;
  return provenPaths.isProven(account, Math.max(Date.parse(before.since), now - provenWithinMs), orderId);
}

/** How long an order may go unread, and how long it did. */
function createPace(account: OrderActivityPorts['account'], { now, jittered }: Looking) {
  const stillSo = (status: string, input: LookInput, elapsedMs: number): ApplicationFailure =>
    notYet(`Still ${status}.`, jittered(paceMs(status, input, now())) - elapsedMs);

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

  return { stillSo, msSince, sinceLastLook };
}

/** Throws while the order has to wait. True: it has to, and yet is read, since a person asked and it is their turn. */
function goAhead(
  { account, notBefore, forPerson = false }: LookInput,
  before: Struggle | null,
  { looking, quietTimes }: { looking: Looking } & Pick<OrderActivityPorts, 'quietTimes'>,
): boolean {
  const leftMs = before ? 0 : looking.leftMs(notBefore); // the struggle has the later word
  const waitMs = forPerson ? Math.max(leftMs, quietTimes.leftMs(account)) : leftMs;
  if (waitMs === 0) return false;
  const turnMs = forPerson ? quietTimes.takeTurn(account) : waitMs;
  if (turnMs > 0) looking.wait(Math.min(turnMs, waitMs));
  return true;
}

/** Does the service itself say, and for long, that there is no such order? A proxy or a lagging replica answers 404 as well. */
const isUnknown = (error: unknown, { code, since }: Struggle, now: number): boolean =>
  code === 'orderNotFound' &&
  error instanceof RideApiError &&
  error.upstreamCode !== null &&
  now - Date.parse(since) >= unknownAfterMs;

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
