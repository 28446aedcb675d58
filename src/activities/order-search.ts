import type { Account } from '../domain/account.js';
import type { AttemptOutcome, BusinessCallResult, ServiceCall } from '../domain/call.js';
import { shownText } from '../domain/json.js';
import type { SearchResult } from '../ride-api/call.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { AuthorizedCall } from './authorized-call.js';
import { toReadTrouble } from './looking.js';

/** What the search for the order of a lost create needs. */
export interface SearchPorts {
  rideApi: Pick<RideApi, 'scopeOf' | 'findOrder'>;
  call: AuthorizedCall;
  now: () => number;
}

/** What a search has shown if not the one order of the create. */
const unprovenTexts: Record<Exclude<SearchResult['kind'], 'order'>, string> = {
  none: 'no order with its request id was found',
  several: 'several orders have its request id',
  incomplete:
    'the answer is a part of a longer list, so another order may have its request id. Let operations.findOrder.path in the contract profile ask for one request id alone',
  nameless: 'an order with its request id was found. Check pointers.findOrder.orderId in the contract profile',
};

const maxIdsShown = 300;

/** One search by request id for the order of a create whose answer was lost. Throws errors that are not about the service. */
export const createSearch =
  ({ rideApi, call: authorized, now }: SearchPorts) =>
  async (
    account: Account,
    call: ServiceCall,
  ): Promise<{ kind: 'done'; result: BusinessCallResult } | Extract<AttemptOutcome, { kind: 'notFound' }>> => {
    const notFound = (why: string, afterMs?: number) => ({ kind: 'notFound' as const, why, at: now(), afterMs });
    try {
      const scope = rideApi.scopeOf(account, 'findOrder');
      const find = (token: string) => rideApi.findOrder(account, call, token);
      const found = await authorized(account, scope, 'findOrder', find);
      if (found.kind === 'order') return { kind: 'done', result: found.result };
      const orders = found.kind === 'several' ? `: ${shownText(found.orderIds.join(', ').slice(0, maxIdsShown))}` : '';
      return notFound(`${unprovenTexts[found.kind]}${orders}`);
    } catch (error) {
      const trouble = toReadTrouble(error, { account: account.name, operation: 'findOrder' }, now());
      if (!trouble) throw error;
      const { message } = trouble.code === 'upstreamUnavailable' ? (error as Error) : trouble; // the search ends soon
      return notFound(`the search failed: ${message}`, trouble.afterMs);
    }
  };
