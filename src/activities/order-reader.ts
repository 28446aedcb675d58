import type { Account } from '../domain/account.js';
import type { OrderId } from '../domain/keys.js';
import type { OrderReading } from '../domain/observation.js';
import { RideApiError } from '../ride-api/errors.js';
import type { RideApi } from '../ride-api/ride-api.js';
import { createQuietTimes, type QuietTimes } from './quiet-times.js';
import type { TokenSource } from './token-source.js';

/** One read of an order with the fleet's token. Throws the errors of the ride API, `TokenUnavailable`, `QuietTime`. */
export type OrderReader = (account: Account, orderId: OrderId, signal?: AbortSignal) => Promise<OrderReading>;

interface OrderReaderPorts {
  rideApi: RideApi;
  tokens: TokenSource;
  quietTimes?: QuietTimes;
}

const isTokenRejected = (error: unknown): boolean => error instanceof RideApiError && error.code === 'TOKEN_REJECTED';

/** After a 401 the call is repeated once with another token (upstream section 3.2, given); a second 401 fails it. */
export function createOrderReader({ rideApi, tokens, quietTimes = createQuietTimes() }: OrderReaderPorts): OrderReader {
  async function read(account: Account, orderId: OrderId, signal?: AbortSignal): Promise<OrderReading> {
    const scope = rideApi.orderScope(account);
    const token = await tokens.get(account, scope);
    quietTimes.check(account.name); // it may have begun while the token was waited for
    try {
      return await rideApi.readOrder(account, orderId, token.value, signal);
    } catch (error) {
      if (!isTokenRejected(error)) throw error;
      const renewed = await tokens.get(account, scope, token.id);
      return await rideApi.readOrder(account, orderId, renewed.value, signal);
    }
  }
  return async (account, orderId, signal) => {
    quietTimes.check(account.name);
    try {
      return await read(account, orderId, signal);
    } catch (error) {
      if (error instanceof RideApiError && error.retryAfterMs !== undefined) {
        quietTimes.begin(account.name, error.retryAfterMs);
      }
      throw error;
    }
  };
}
