import type { Account } from '../domain/account.js';
import type { OrderId } from '../domain/keys.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';

/** One read of a receipt with the fleet's token. Throws the errors of the ride API, `TokenUnavailable`, `QuietTime`. */
export type ReceiptReader = (
  account: Account,
  orderId: OrderId,
  signal?: AbortSignal,
) => Promise<Record<string, unknown>>;

interface ReceiptReaderPorts {
  rideApi: Pick<RideApi, 'readReceipt' | 'receiptScope'>;
  call: AuthorizedCall;
}

/** A reader that shares tokens and quiet times with the other calls of the account. */
export const createReceiptReader =
  ({ rideApi, call }: ReceiptReaderPorts): ReceiptReader =>
  (account, orderId, signal) =>
    call(account, rideApi.receiptScope(), 'readReceipt', (token) =>
      rideApi.readReceipt(account, orderId, token, signal),
    );
