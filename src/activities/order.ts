import { activityInfo, cancellationSignal, sleep } from '@temporalio/activity';
import { interfaceTerms } from '../contracts/interface-terms.js';
import type { Account } from '../domain/account.js';
import type { ConcernCode } from '../domain/attention.js';
import { iso, readInstant, toEpoch } from '../domain/instant.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { concernOf } from '../domain/order/concern.js';
import { isSameStatus, toRideStatus } from '../domain/order/status.js';
import type { LookInput, OrderObservation, OrderReading } from '../domain/order/trail.js';
import type { Struggle } from '../domain/struggle.js';
import { RideApiError } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { type AuthorizedCall, QuietTime, type QuietTimes } from './authorized-call.js';
import { createLooking, type Looking, type LookingPorts, toReadTrouble } from './looking.js';
import { createPace, graceMs, noReliance, type PacedLook, type ReliabilityOfDeliveries } from './order-pace.js';

/** Options of a read. */
interface ReadManner {
  signal?: AbortSignal;
  /** Ignores all waits of the account. */
  isThrough?: boolean;
}

/** One read of an order with the fleet's token. Throws the errors of the ride API, `TokenUnavailable`, `QuietTime`. */
export type OrderReader = (account: Account, orderId: OrderId, manner?: ReadManner) => Promise<OrderReading>;

/** Whether look-ups of orders work for an account: a wrong path and an unknown order get the same answer. */
export type ProvenPaths = ReturnType<typeof createProvenPaths>;

/** Kept in the memory of the process, since another worker may have another contract profile. */
export function createProvenPaths(now: () => number = Date.now) {
  /** The last two orders that were read: at least one of them is not the order in question. */
  const lastRead = new Map<AccountName, { orderId: OrderId; at: number }[]>();
  return {
    prove(account: AccountName, orderId: OrderId): void {
      const others = (lastRead.get(account) ?? []).filter((read) => read.orderId !== orderId);
      lastRead.set(account, [{ orderId, at: now() }, ...others].slice(0, 2));
    },
    /** Has this process read another order of the account since then (epoch milliseconds)? */
    isProven: (account: AccountName, since: number, orderId: OrderId): boolean =>
      (lastRead.get(account) ?? []).some((read) => read.orderId !== orderId && read.at >= since),
  };
}

interface OrderReaderPorts {
  rideApi: Pick<RideApi, 'readOrder' | 'scopeOf'>;
  call: AuthorizedCall;
  provenPaths: ProvenPaths;
}

/** A reader that shares tokens and quiet times with the other calls of the account. */
export const createOrderReader =
  ({ rideApi, call, provenPaths }: OrderReaderPorts): OrderReader =>
  async (account, orderId, { signal, isThrough } = {}) => {
    const scope = rideApi.scopeOf(account, interfaceTerms[account.interface].readOperation);
    const read = (token: string) => rideApi.readOrder(account, orderId, token, signal);
    const reading = await call(account, scope, 'readOrder', read, isThrough);
    provenPaths.prove(account.name, orderId);
    return reading;
  };

export interface OrderActivityPorts extends LookingPorts {
  readOrder: OrderReader;
  readShown: ShownReader;
  readSince: SinceReader;
  quietTimes: Pick<QuietTimes, 'leftMs' | 'takeTurn'>;
  provenPaths: Pick<ProvenPaths, 'isProven'>;
  reliability: ReliabilityOfDeliveries;
  /** The worker records changes in a store, so its runs do. */
  stores?: boolean;
}

/** Names a run of `followOrder`. */
interface FollowingRun {
  workflowId: string;
  runId: string;
}

/** Reads what a run of `followOrder` shows now. */
export type ShownReader = (run: FollowingRun) => Promise<Shown>;

/** Asks a run of `followOrder` since when it shows its status, as an ISO instant. Needs a worker that answers the query. */
export type SinceReader = (run: FollowingRun) => Promise<string>;

export interface Shown {
  /** Null before the first read. */
  status: string | null;
  concern: ConcernCode | null;
  /** The number of events of the run. */
  runLength: number;
}

export type OrderActivities = ReturnType<typeof createOrderActivities>;

/** We assume that all replicas of the service know a new order long before that. */
const unknownAfterMs = 5 * 60_000;
/** The same for an order that a delivery names: the delivery may come from a stranger who knows an address. */
const inventedAfterMs = 15 * 60_000;
/** Longer than the pause between two looks for an unknown order, so that the path was right between them. */
const provenWithinMs = 90_000;

/** After a wait that began during a person's read, the next attempt takes that person's turn. */
const turnPauseMs = 100;

/** What a read found. */
interface Found {
  reading: OrderReading;
  /** When the answer came. */
  at: number;
  /** What the run showed before the read, if the poll has asked it. */
  run: Shown | null;
  /** The input of the look, with what the run shows. */
  wanted: PacedLook;
}

/** How one of the activities looks. */
interface Manner {
  /** A caller waits, so any result is an answer, also trouble that the run shows already. */
  isOneShot: boolean;
  /** The last read of the run: the first attempt only waits for the rest of the pace. Null: it reads at once. */
  lastReadAt: string | null;
}

/**
 * Activities that look at an order. They complete only with news. Otherwise Temporal's retry repeats them without history events, and the
 * heartbeat details carry state from attempt to attempt.
 */
export function createOrderActivities(ports: OrderActivityPorts) {
  const { account, provenPaths, reliability } = ports;
  const looking = createLooking(ports);
  const { now } = looking;
  const pace = createPace(account, looking);
  const { stillSo, sinceLastLook } = pace;
  const read = createRead(ports, looking, pace);

  async function look(given: LookInput, manner: Manner): Promise<OrderObservation> {
    const reliance = manner.isOneShot ? noReliance : await reliability.of(account(given.account));
    const input: PacedLook = { ...given, reliance };
    const { attempt } = activityInfo();
    const reads = manner.lastReadAt === null ? attempt : attempt - 1;
    const shown = input.shown.attention;
    const before = looking.leftBehind();
    const { readOperation: operation } = interfaceTerms[account(input.account).interface];
    const isPathProven = isProven(input, before, { provenPaths, now: now() });
    const show = (struggle: Struggle): OrderObservation => {
      const { code, message, since, notBefore } = struggle;
      return { kind: 'trouble', attention: { code, message, since }, notBefore, reads };
    };
    return await looking.look<Found, OrderObservation>({
      shown,
      before,
      read: () => read(input, manner, before),
      answer({ reading, at, run, wanted }) {
        if (!manner.isOneShot && !isNewsTo(wanted, reading)) {
          const requestedAt = toEpoch(readInstant(reading.details?.requestedAt) ?? null);
          throw stillSo(reading.status, wanted, { requestedAt });
        }
        const stores: { stores?: true } = ports.stores ? { stores: true } : {};
        const gapMs = reads > 1 ? { gapMs: sinceLastLook(wanted, before) } : {};
        return {
          kind: 'reading',
          reading,
          at: iso(at),
          reads,
          ...stores,
          ...gapMs,
          ...(run && { runLength: run.runLength }),
        };
      },
      toTrouble: (error) => toReadTrouble(error, { account: input.account, orderId: input.orderId, operation }, now()),
      settle(struggle, error) {
        const afterMs = input.mayBeUnknown ? unknownAfterMs : inventedAfterMs;
        if (isPathProven && isUnknown(error, struggle, now() - afterMs))
          return { kind: 'unknownOrder', reads, ...(input.mayBeUnknown ? {} : { despiteDeliveries: true }) };
        // A caller that wants a read gets no wait as an answer.
        const isAnswer = manner.isOneShot && struggle.code === shown && !(error instanceof QuietTime);
        return isAnswer ? show(struggle) : undefined;
      },
      show,
    });
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

/** The request of a look, and what the run shows beside it. */
function createRead(
  { account, readOrder, readShown, readSince, quietTimes, reliability }: OrderActivityPorts,
  looking: Looking,
  { stillSo, msSince }: ReturnType<typeof createPace>,
) {
  const { now } = looking;

  async function read(input: PacedLook, manner: Manner, before: Struggle | null): Promise<Found> {
    const isThrough = goAhead(input, before, { looking, quietTimes });
    if (manner.lastReadAt !== null && activityInfo().attempt === 1)
      throw stillSo(toRideStatus(input.shown.rawStatus ?? ''), input, { elapsedMs: msSince(manner.lastReadAt) });
    // The run of a pushed order may show something else than at the start of the poll, since deliveries lead to reads.
    const { workflowExecution } = activityInfo();
    const run = input.pushed && !manner.isOneShot && workflowExecution ? await readShown(workflowExecution) : null;
    const wanted = run ? withShown(input, run) : input;
    try {
      const options = { signal: cancellationSignal(), isThrough };
      const reading = await readOrder(account(input.account), input.orderId, options);
      const at = now();
      const asked = run && workflowExecution;
      const later = asked ? await awaitDelivery(asked, run, { reading, wanted }) : null;
      const known = later ? withShown(input, later) : wanted;
      const watched = await withConcern({ reading, at, wanted: known, asked }, { account, readSince });
      return { reading: watched, at, run, wanted: known };
    } catch (error) {
      if (error instanceof QuietTime && input.forPerson) looking.wait(Math.min(error.leftMs, turnPauseMs));
      throw error;
    }
  }

  /**
   * A poll that finds a change first waits a moment for its delivery. What the run shows then; null: there was nothing to wait for. It is a
   * miss if nothing at all has reached the run.
   */
  async function awaitDelivery(
    run: FollowingRun,
    before: Shown,
    { reading, wanted }: Pick<Found, 'reading' | 'wanted'>,
  ): Promise<Shown | null> {
    if (!wanted.reliance.takesMisses || isSameStatus(reading.status, before.status)) return null;
    const at = account(wanted.account);
    await sleep(graceMs(at.poll));
    const later = await readShown(run);
    if (later.runLength === before.runLength) await reliability.miss(at, wanted.orderId);
    return later;
  }

  return read;
}

/**
 * Can a 404 mean that the order does not exist? Checked before the look, since a repair of the path between this look and the read of
 * another order would prove nothing.
 */
function isProven(
  { mayBeUnknown, mayBeInvented = false, account, orderId }: LookInput,
  before: Struggle | null,
  { provenPaths, now }: Pick<OrderActivityPorts, 'provenPaths'> & { now: number },
): boolean {
  if (!(mayBeUnknown || mayBeInvented) || before?.code !== 'orderNotFound') return false;
  return provenPaths.isProven(account, Math.max(Date.parse(before.since), now - provenWithinMs), orderId);
}

interface WatchedReading extends Pick<Found, 'reading' | 'at'> {
  wanted: LookInput;
  /** The run that the poll has asked for its status: the status may be newer than `since` in the input. */
  asked: FollowingRun | null | undefined;
}

/** Adds to a reading what is wrong with the ride, for a run that takes it. */
export async function withConcern(
  { reading, at, wanted, asked }: WatchedReading,
  { account, readSince }: Pick<OrderActivityPorts, 'account' | 'readSince'>,
): Promise<OrderReading> {
  const { shown, watched, scheduledAt } = wanted;
  if (!watched || reading.terminal) return reading;
  const isNew = !isSameStatus(reading.status, shown.rawStatus);
  const order = {
    status: reading.status,
    scheduledAt: toEpoch(readInstant(reading.details?.scheduledAt) ?? scheduledAt),
    requestedAt: toEpoch(readInstant(reading.details?.requestedAt) ?? null),
    followedSince: Date.parse(watched.followedSince),
    shown: watched.concern,
    now: at,
  };
  const find = (since: string) =>
    concernOf({ ...order, since: isNew ? null : Date.parse(since) }, account(wanted.account).watch);
  const concern = find(wanted.since);
  const isByAge = concern?.code === 'stuckInStatus' && watched.concern !== concern.code;
  return { ...reading, concern: isByAge && asked ? find(await readSince(asked)) : concern };
}

/** Throws while the order must wait. True: it must wait, but a person asked for the read and it is their turn. */
function goAhead(
  { account, notBefore, forPerson = false }: LookInput,
  before: Struggle | null,
  { looking, quietTimes }: { looking: Looking } & Pick<OrderActivityPorts, 'quietTimes'>,
): boolean {
  const leftMs = before ? 0 : looking.leftMs(notBefore); // the struggle is newer
  const waitMs = forPerson ? Math.max(leftMs, quietTimes.leftMs(account)) : leftMs;
  if (waitMs === 0) return false;
  const turnMs = forPerson ? quietTimes.takeTurn(account) : waitMs;
  if (turnMs > 0) looking.wait(Math.min(turnMs, waitMs));
  return true;
}

/** Has the service itself said for long that there is no such order? A proxy or a lagging replica may answer 404 too. */
const isUnknown = (error: unknown, { code, since }: Struggle, latest: number): boolean =>
  code === 'orderNotFound' &&
  error instanceof RideApiError &&
  error.upstreamCode !== null &&
  Date.parse(since) <= latest;

const withShown = (input: PacedLook, { status, concern }: Shown): PacedLook => ({
  ...input,
  shown: { ...input.shown, rawStatus: status },
  ...(input.watched && { watched: { ...input.watched, concern } }),
});

function isNewsTo({ shown, watched, scheduledAt }: LookInput, reading: OrderReading): boolean {
  const pickup = readInstant(reading.details?.scheduledAt);
  const isMoved = pickup !== undefined && pickup !== scheduledAt;
  const isSettled = shown.attention === null && (reading.concern?.code ?? null) === (watched?.concern ?? null);
  return reading.terminal || isMoved || !isSettled || !isSameStatus(reading.status, shown.rawStatus);
}
