import { createAuthorizedCall, createQuietTimes, type QuietTimes } from '../../src/activities/authorized-call.js';
import {
  createOrderReader,
  createProvenPaths,
  type OrderReader,
  type ProvenPaths,
} from '../../src/activities/order.js';
import type { AccessToken, RejectedCall, TokenSource } from '../../src/activities/token-source.js';
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
 *  were asked for at these times; those beyond, after everything else. */
export function tokensInOrder(askedAt: readonly number[] = []) {
  const calls: (string | undefined)[] = [];
  const rejectedAfresh: Pick<RejectedCall, 'tokenId' | 'operation'>[] = [];
  let current = 1;
  return {
    calls,
    rejectedAfresh,
    async get(_account: unknown, _scope: unknown, rejected?: RejectedCall): Promise<AccessToken> {
      calls.push(rejected?.tokenId);
      if (rejected?.tokenId === `token-${current}`) current += 1;
      const at = askedAt[current - 1] ?? Number.MAX_SAFE_INTEGER;
      return { id: `token-${current}`, value: `clear token-${current}`, askedAt: at, served: new Set() };
    },
    async rejectAfresh(
      _account: unknown,
      _scope: unknown,
      rejected: Pick<RejectedCall, 'tokenId' | 'operation'>,
    ): Promise<void> {
      rejectedAfresh.push(rejected);
    },
  };
}

/** The order reader of a process that holds these tokens. */
export const orderReader = (
  rideApi: RideApi,
  tokens: TokenSource,
  quietTimes: QuietTimes = createQuietTimes(),
  provenPaths: ProvenPaths = createProvenPaths(),
): OrderReader =>
  createOrderReader({
    rideApi,
    call: createAuthorizedCall({ tokens, quietTimes, now: () => 0 }), // however busy the machine is
    provenPaths,
  });
