import { FaretrailError } from './domain/errors.js';
import type { WorkerMetrics } from './metrics.js';
import type { RideApi } from './ride-api/ride-api.js';

/** The same client, with each call counted by its outcome. */
export function countCalls(rideApi: RideApi, metrics: WorkerMetrics): RideApi {
  return {
    ...rideApi,
    requestToken: (account, scope, signal) =>
      counted(
        () => rideApi.requestToken(account, scope, signal),
        (outcome) => metrics.countTokenRequest({ account: account.name, scope, outcome }),
      ),
    readOrder: (account, orderId, accessToken, signal) =>
      counted(
        () => rideApi.readOrder(account, orderId, accessToken, signal),
        (outcome, seconds) => {
          const operation = account.interface === 'partner' ? 'orderStatus' : 'orderDetails';
          metrics.countUpstreamCall({ account: account.name, operation, outcome, seconds });
        },
      ),
  };
}

async function counted<T>(call: () => Promise<T>, count: (outcome: string, seconds: number) => void): Promise<T> {
  const startedAt = performance.now();
  const secondsSince = () => (performance.now() - startedAt) / 1_000;
  try {
    const result = await call();
    count('ok', secondsSince());
    return result;
  } catch (error) {
    count(error instanceof FaretrailError ? error.code : 'aborted', secondsSince());
    throw error;
  }
}
