import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { interfaceTerms } from '../contracts/interface-terms.js';
import type { Account } from '../domain/account.js';
import type { Attention } from '../domain/attention.js';
import { iso } from '../domain/instant.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import { concernIn } from '../domain/order/concern.js';
import type { OrderObservation, OrderReading, ReadOrderInput, Vouching } from '../domain/order/trail.js';
import type { Struggle } from '../domain/struggle.js';
import { RideApiError } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { type AuthorizedCall, type CallManner, QuietTime, type QuietTimes } from './authorized-call.js';
import { createLooking, type Looking, type LookingPorts, toReadTrouble } from './looking.js';

/** Options of a read. */
interface ReadManner extends CallManner {
  signal?: AbortSignal;
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
  quietTimes: Pick<QuietTimes, 'leftMs' | 'takeTurn'>;
  provenPaths: Pick<ProvenPaths, 'isProven'>;
  /** The worker records changes in a store, so its runs do. */
  stores?: boolean;
}

/** The activities that look at an order, as workflows see them. */
export type OrderActivities = ReturnType<typeof createOrderActivities>;

/** See `OrderActivities`. Until they have an answer Temporal's retry repeats them, which adds no events. */
export const createOrderActivities = (ports: OrderActivityPorts) => {
  const looking = createLooking(ports);
  return {
    /** One read, whatever it says. Trouble is the answer once it has lasted, and is another one than the run shows. */
    readOrder: (input: ReadOrderInput): Promise<OrderObservation> => readOrder(input, ports, looking),
  };
};

/** We assume that all replicas of the service know a new order long before that; a stranger may have sent a delivery. */
const unknownAfterMs: Record<Vouching, number> = {
  nobody: 5 * 60_000,
  delivery: 15 * 60_000,
  rideOrRead: Number.POSITIVE_INFINITY,
};
/** Longer than the pause between two looks for an unknown order, so that the path was right between them. */
const provenWithinMs = 90_000;

/** After a wait that began during a person's read, the next attempt takes that person's turn. */
const turnPauseMs = 100;

async function readOrder(
  input: ReadOrderInput,
  ports: OrderActivityPorts,
  looking: Looking,
): Promise<OrderObservation> {
  const { account, orderId, attention: shown } = input;
  const { now } = looking;
  const { attempt: reads } = activityInfo();
  const before = looking.leftBehind() ?? input.struggle;
  // Before the look, since a repair of the path between this look and the read of another order would prove nothing.
  const isPathProven =
    before?.code === 'orderNotFound' &&
    ports.provenPaths.isProven(account, Math.max(Date.parse(before.since), now() - provenWithinMs), orderId);
  const show = ({ code, message, since, notBefore }: Struggle): OrderObservation => {
    const attention: Attention = { code, message, since };
    return { kind: 'trouble', attention, notBefore, reads };
  };
  return await looking.look<OrderObservation>({
    shown,
    before,
    async read() {
      const isThrough = goAhead(input, before, ports, looking);
      try {
        const options = { signal: cancellationSignal(), isThrough };
        const reading = await ports.readOrder(ports.account(account), orderId, options);
        if (!input.isWatched && !reading.terminal) await ports.startWatch(account);
        const at = now();
        const concern = concernIn(reading, at, input, ports.account(account).watch);
        const stores = ports.stores ? { stores: true as const } : {};
        return { kind: 'reading', reading: { ...reading, concern }, at: iso(at), reads, ...stores };
      } catch (error) {
        if (error instanceof QuietTime && input.forPerson) looking.wait(Math.min(error.leftMs, turnPauseMs));
        throw error;
      }
    },
    toTrouble: (error) => toTrouble(error, input, ports, now()),
    settle(struggle, error) {
      if (isPathProven && isUnknown(error, struggle, now() - unknownAfterMs[input.vouching]))
        return { kind: 'unknownOrder', reads };
      // A person who wants a read gets no wait as an answer.
      return input.forPerson && struggle.code === shown && !(error instanceof QuietTime) ? show(struggle) : undefined;
    },
    show,
  });
}

const toTrouble = (
  error: unknown,
  { account, orderId }: { account: AccountName; orderId: OrderId },
  ports: OrderActivityPorts,
  now: number,
) => {
  const { readOperation: operation } = interfaceTerms[ports.account(account).interface];
  return toReadTrouble(error, { account, orderId, operation }, now);
};

/** Throws while the order must wait. True: it must wait, but a person asked for the read and it is their turn. */
function goAhead(
  { account, notBefore, forPerson }: ReadOrderInput,
  before: Struggle | null,
  { quietTimes }: OrderActivityPorts,
  looking: Looking,
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
