import type { Account } from '../domain/account.js';
import type { AccountName, OrderId } from '../domain/keys.js';
import type { OrderReading } from '../domain/observation.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';

/** How a read is made. */
export interface ReadManner {
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
