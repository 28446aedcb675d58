import { createAuthorizedCall } from '../../src/activities/authorized-call.js';
import { createOrderReader, type OrderReader } from '../../src/activities/order-reader.js';
import { createQuietTimes, type QuietTimes } from '../../src/activities/quiet-times.js';
import type { AccessToken, TokenSource } from '../../src/activities/token-source.js';
import { toScope } from '../../src/domain/keys.js';
import type { RideApi } from '../../src/ride-api/ride-api.js';

const notPlayed = (name: string) => () => Promise.reject(new Error(`${name} is not played here`));

/** The service, with only the given parts played. */
export const fakeRideApi = (parts: Partial<RideApi>): RideApi => ({
  requestToken: notPlayed('requestToken'),
  readOrder: notPlayed('readOrder'),
  orderScope: () => toScope('demand_partner'),
  readReceipt: notPlayed('readReceipt'),
  receiptScope: () => toScope('finance'),
  callOperation: notPlayed('callOperation'),
  readEffect: notPlayed('readEffect'),
  operationScope: () => toScope('order'),
  knowsRepeats: () => true,
  createSubscriber: notPlayed('createSubscriber'),
  listSubscribers: notPlayed('listSubscribers'),
  deleteSubscriber: notPlayed('deleteSubscriber'),
  subscriberScope: () => toScope(''),
  close: async () => undefined,
  ...parts,
});

/** A source that serves `token-1` until it is rejected, then `token-2`, and so on; each call is written down. They
 *  were requested at these times; those beyond, after everything else. */
export function tokensInOrder(requestedAt: readonly number[] = []): TokenSource & { calls: (string | undefined)[] } {
  const calls: (string | undefined)[] = [];
  let current = 1;
  return {
    calls,
    async get(_account, _scope, rejected): Promise<AccessToken> {
      calls.push(rejected);
      if (rejected === `token-${current}`) current += 1;
      const at = requestedAt[current - 1] ?? Number.MAX_SAFE_INTEGER;
      return { id: `token-${current}`, value: `clear token-${current}`, requestedAt: at };
    },
  };
}

/** The order reader of a process that holds these tokens. */
export const orderReader = (
  rideApi: RideApi,
  tokens: TokenSource,
  quietTimes: QuietTimes = createQuietTimes(),
): OrderReader => createOrderReader({ rideApi, call: createAuthorizedCall({ tokens, quietTimes }) });
