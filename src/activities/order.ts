import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { ageMs, type MonotonicClock, monotonicMs, type WallClock } from '../clock.js';
import { interfaceTerms } from '../contracts/contract-profile.js';
import type { Account } from '../domain/account.js';
import type { Attention } from '../domain/attention.js';
import { type FailureStreak, judge } from '../domain/failure-streak.js';
import { iso } from '../domain/instant.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { concernIn } from '../domain/order/concern.js';
import type { OrderObservation, OrderReading, ReadOrderInput, Vouching } from '../domain/order/trail.js';
import { RideApiError } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { type AuthorizedCall, type CallManner, QuietTime } from './authorized-call.js';
import { createLooking, type LookingPorts, toReadTrouble } from './looking.js';
import { runOfActivity } from './runs.js';
import type { UnprovenReads } from './unproven-reads.js';

/** Options of a read. */
interface ReadManner extends CallManner {
  signal?: AbortSignal;
}

/** One read of an order with the fleet's token. Throws the errors of the ride API, `TokenUnavailable`, `QuietTime`. */
export type OrderReader = (account: Account, orderId: OrderId, manner?: ReadManner) => Promise<OrderReading>;

/** Whether look-ups of orders work for an account: a wrong path and an unknown order get the same answer. */
export type ProvenPaths = ReturnType<typeof createProvenPaths>;

/** Kept in the memory of the process, since another worker may have another contract profile. */
export function createProvenPaths(monotonic: MonotonicClock = monotonicMs) {
  /** The last two orders that were read: at least one of them is not the order in question. */
  const lastRead = new Map<AccountName, { orderId: OrderId; at: number }[]>();
  return {
    prove(account: AccountName, orderId: OrderId): void {
      const others = (lastRead.get(account) ?? []).filter((read) => read.orderId !== orderId);
      lastRead.set(account, [{ orderId, at: monotonic() }, ...others].slice(0, 2));
    },
    /** Has this process read another order of the account within so many milliseconds? */
    isProven: (account: AccountName, withinMs: number, orderId: OrderId): boolean =>
      (lastRead.get(account) ?? []).some((read) => read.orderId !== orderId && monotonic() - read.at <= withinMs),
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
  async (account, orderId, { signal, ...manner } = {}) => {
    const scope = rideApi.scopeOf(account, interfaceTerms[account.interface].readOperation);
    const read = (token: string) => rideApi.readOrder(account, orderId, token, signal);
    const reading = await call(account, scope, read, manner);
    provenPaths.prove(account.name, orderId);
    return reading;
  };

/** The ports of the activities. */
export interface OrderActivityPorts extends LookingPorts {
  readOrder: OrderReader;
  /** Sees to it that the watch of the account runs. Never rejects. */
  startWatch(account: AccountName): Promise<void>;
  provenPaths: Pick<ProvenPaths, 'isProven'>;
  unprovenReads: UnprovenReads;
  /** The worker records changes in a store, so its runs do. */
  stores?: boolean;
}

/** The activities that look at an order, as workflows see them. */
export type OrderActivities = ReturnType<typeof createOrderActivities>;

/** We assume that all replicas of the service know a new order long before that; a stranger may have sent a delivery. */
const unknownAfterMs: Record<Vouching, number> = {
  nobody: 5 * 60_000,
  delivery: 15 * 60_000,
  provenDelivery: 15 * 60_000,
  rideOrRead: Number.POSITIVE_INFINITY,
};
/** Longer than the pause between two looks for an unknown order, so that the path was right between them. */
const provenWithinMs = 90_000;

/** Does only a delivery that a stranger may have sent name the order, which nobody has read yet? */
const isUnproven = ({ vouching, rawStatus, forPerson }: ReadOrderInput): boolean =>
  vouching === 'delivery' && rawStatus === null && !forPerson;

/** The same in each attempt. */
function readId(): string {
  const { activityId } = activityInfo();
  return `${runOfActivity().runId}/${activityId}`;
}

/** See `OrderActivities`. Until they have an answer Temporal's retry repeats them, which adds no events. */
export function createOrderActivities(ports: OrderActivityPorts) {
  const looking = createLooking(ports);
  const { now } = looking;

  /** One read, whatever it says. Trouble is the answer once it has lasted, and is another one than the run shows. */
  async function readOrder(input: ReadOrderInput): Promise<OrderObservation> {
    const { orderId, attention: shown } = input;
    const account = ports.account(input.account);
    const asked = { account: account.name, orderId, operation: interfaceTerms[account.interface].readOperation };
    const { attempt: reads } = activityInfo();
    const left = looking.leftBehind();
    const before = left ?? input.streak;
    const { forPerson } = input;
    // Before the look, since a repair of the path between this look and the read of another order would prove nothing.
    const isPathProven =
      before?.code === 'orderNotFound' &&
      ports.provenPaths.isProven(account.name, Math.min(ageMs(Date.parse(before.since), now), provenWithinMs), orderId);
    const show = ({ code, message, since, notBefore }: FailureStreak): OrderObservation => {
      const attention: Attention = { code, message, since };
      return { kind: 'trouble', attention, notBefore, reads };
    };
    return await looking.look<OrderObservation>({
      shown,
      before,
      isUrgent: forPerson && left === null,
      async read() {
        // The streak is newer than the input, and a person waits for no back-off of ours.
        const leftMs = before || forPerson ? 0 : looking.leftMs(input.notBefore);
        if (leftMs > 0) looking.wait(leftMs);
        const turnMs = isUnproven(input) ? ports.unprovenReads.waitMs(account, readId()) : 0;
        if (turnMs > 0) looking.wait(turnMs);
        const manner = { signal: cancellationSignal(), isForPerson: forPerson };
        const reading = await ports.readOrder(account, orderId, manner);
        if (!input.isWatched && !reading.terminal) await ports.startWatch(account.name);
        const at = now();
        const concern = concernIn(reading, at, input, account.watch);
        const stores = ports.stores ? { stores: true as const } : {};
        return { kind: 'reading', reading: { ...reading, concern }, at: iso(at), reads, ...stores };
      },
      toTrouble: (error) => toReadTrouble(error, asked),
      settle(streak, error) {
        if (isPathProven && isUnknown(error, streak, unknownAfterMs[input.vouching], now))
          return { kind: 'unknownOrder', reads };
        // A person gets the trouble as the answer, but waits for a turn within the account's budget.
        if (!forPerson || error instanceof QuietTime) return undefined;
        const isShown = streak.code === shown || judge(streak, shown, now()).act === 'raise';
        return isShown ? show(streak) : { ...show(streak), brief: streak };
      },
      show,
    });
  }

  return { readOrder };
}

/** Has the service itself said for long that there is no such order? A proxy or a lagging replica may answer 404 too. */
const isUnknown = (error: unknown, { code, since }: FailureStreak, afterMs: number, now: WallClock): boolean =>
  code === 'orderNotFound' &&
  error instanceof RideApiError &&
  error.upstreamCode !== null &&
  ageMs(Date.parse(since), now) >= afterMs;
