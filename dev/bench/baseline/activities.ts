import { ApplicationFailure } from '@temporalio/common';
import type { Account } from '../../../src/domain/account.js';
import type { AccountName, OrderId } from '../../../src/domain/keys.js';
import { RideApiError } from '../../../src/ride-api/errors.js';
import type { RideApi } from '../../../src/ride-api/ride-api.js';
import { createTokenCache } from './access-token.js';

export interface TrackerPorts {
  accounts: readonly Account[];
  rideApi: RideApi;
  now: () => number;
}

export type TrackerActivities = ReturnType<typeof createTrackerActivities>;

export function createTrackerActivities({ accounts, rideApi, now }: TrackerPorts) {
  const byName = new Map<AccountName, Account>(accounts.map((account) => [account.name, account]));
  const tokens = createTokenCache(rideApi, now);
  /** One read of an order. What fails is left to Temporal's default retry policy. */
  async function readStatus(name: AccountName, orderId: OrderId): Promise<{ status: string; terminal: boolean }> {
    const account = byName.get(name);
    if (!account) throw ApplicationFailure.nonRetryable(`unknown account ${name}`);
    try {
      const { status, terminal } = await rideApi.readOrder(account, orderId, await tokens.get(account));
      return { status, terminal };
    } catch (error) {
      if (error instanceof RideApiError && error.code === 'TOKEN_REJECTED') tokens.forget(account);
      if (error instanceof RideApiError && error.code === 'ORDER_UNKNOWN') {
        throw ApplicationFailure.nonRetryable(`unknown order ${orderId}`);
      }
      throw error;
    }
  }

  return { readStatus };
}
