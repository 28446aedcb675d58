import type { Account } from '../domain/account.js';
import type { OrderId } from '../domain/keys.js';
import type { OrderReading } from '../domain/observation.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';

/** One read of an order with the fleet's token. Throws the errors of the ride API, `TokenUnavailable`, `QuietTime`. */
export type OrderReader = (account: Account, orderId: OrderId, signal?: AbortSignal) => Promise<OrderReading>;

interface OrderReaderPorts {
  rideApi: Pick<RideApi, 'readOrder' | 'orderScope'>;
  call: AuthorizedCall;
}

/** A reader that shares tokens and quiet times with the other calls of the account. */
export const createOrderReader =
  ({ rideApi, call }: OrderReaderPorts): OrderReader =>
  (account, orderId, signal) =>
    call(account, rideApi.orderScope(account), 'readOrder', (token) =>
      rideApi.readOrder(account, orderId, token, signal),
    );
