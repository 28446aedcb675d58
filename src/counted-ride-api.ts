import type { OperationName } from './contracts/contract-profile.js';
import type { Account } from './domain/account.js';
import { FaretrailError } from './domain/errors.js';
import type { WorkerMetrics } from './metrics.js';
import type { RideApi } from './ride-api/ride-api.js';

const counter =
  (metrics: WorkerMetrics, { name: account }: Account, operation: OperationName) =>
  (outcome: string, seconds: number): void =>
    metrics.countUpstreamCall({ account, operation, outcome, seconds });

/** The same client, with each call counted by its outcome. */
export function countCalls(rideApi: RideApi, metrics: WorkerMetrics): RideApi {
  return {
    ...rideApi,
    requestToken: (account, scope, signal) =>
      counted(
        () => rideApi.requestToken(account, scope, signal),
        (outcome) => metrics.countTokenRequest({ account: account.name, scope, outcome }),
      ),
    readOrder: (account, ...rest) =>
      counted(
        () => rideApi.readOrder(account, ...rest),
        counter(metrics, account, account.interface === 'partner' ? 'orderStatus' : 'orderDetails'),
      ),
    readReceipt: (account, ...rest) =>
      counted(() => rideApi.readReceipt(account, ...rest), counter(metrics, account, 'orderReceipt')),
    callOperation: (account, call, ...rest) =>
      counted(() => rideApi.callOperation(account, call, ...rest), counter(metrics, account, call.operation)),
    readEffect: (account, ...rest) =>
      counted(() => rideApi.readEffect(account, ...rest), counter(metrics, account, 'orderDetails')),
    createSubscriber: (account, ...rest) =>
      counted(() => rideApi.createSubscriber(account, ...rest), counter(metrics, account, 'createSubscriber')),
    listSubscribers: (account, ...rest) =>
      counted(() => rideApi.listSubscribers(account, ...rest), counter(metrics, account, 'listSubscribers')),
    deleteSubscriber: (account, ...rest) =>
      counted(() => rideApi.deleteSubscriber(account, ...rest), counter(metrics, account, 'deleteSubscriber')),
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
