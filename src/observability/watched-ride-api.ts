import { monotonicMs } from '../clock.js';
import { type ContractProfile, interfaceTerms, type OperationName } from '../contracts/contract-profile.js';
import type { Account } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import type { Scope } from '../domain/keys.js';
import type { RideApi } from '../ride-api/ride-api.js';
import type { WorkerMetrics } from './metrics.js';
import type { Tracing } from './tracing.js';

/** One call to the service, as metrics and traces may know it. */
export interface WatchedCall {
  account: Account;
  operation: OperationName | 'requestToken';
  /** Of a token request. */
  scope?: Scope;
}

/** Makes a call and records it; gives or throws the same as the call. */
export type CallWatch = <T>(about: WatchedCall, call: () => Promise<T>) => Promise<T>;

/** Every method that calls the service: a new method does not compile until it is watched. */
type Calls = Omit<RideApi, 'scopeOf' | 'knowsRepeats' | 'close'>;

/** The same client, with each call watched. */
export function watchCalls(rideApi: RideApi, watch: CallWatch): RideApi {
  const calls: Calls = {
    requestToken: (account, scope, signal) =>
      watch({ account, operation: 'requestToken', scope }, () => rideApi.requestToken(account, scope, signal)),
    readOrder: (account, ...rest) =>
      watch({ account, operation: interfaceTerms[account.interface].readOperation }, () =>
        rideApi.readOrder(account, ...rest),
      ),
    readReceipt: (account, ...rest) =>
      watch({ account, operation: 'orderReceipt' }, () => rideApi.readReceipt(account, ...rest)),
    askEstimate: (account, ...rest) =>
      watch({ account, operation: 'priceEstimate' }, () => rideApi.askEstimate(account, ...rest)),
    callOperation: (account, call, ...rest) =>
      watch({ account, operation: call.operation }, () => rideApi.callOperation(account, call, ...rest)),
    readEffect: (account, ...rest) =>
      watch({ account, operation: 'orderDetails' }, () => rideApi.readEffect(account, ...rest)),
    createSubscriber: (account, ...rest) =>
      watch({ account, operation: 'createSubscriber' }, () => rideApi.createSubscriber(account, ...rest)),
    listSubscribers: (account, ...rest) =>
      watch({ account, operation: 'listSubscribers' }, () => rideApi.listSubscribers(account, ...rest)),
    deleteSubscriber: (account, ...rest) =>
      watch({ account, operation: 'deleteSubscriber' }, () => rideApi.deleteSubscriber(account, ...rest)),
  };
  return { ...rideApi, ...calls };
}

/** A code as a label, in the one spelling of all labels: `TOKEN_REJECTED` is `tokenRejected`. */
const toOutcome = (code: string): string =>
  (/^[A-Z_]+$/.test(code) ? code.toLowerCase() : code)
    .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
    .replace(/^./, (letter) => letter.toLowerCase());

/** Counts calls by their outcome. */
export function countCalls(metrics: WorkerMetrics): CallWatch {
  return async ({ account: { name: account }, operation, scope }, call) => {
    const startedAt = monotonicMs();
    const count = (outcome: string): void => {
      const seconds = (monotonicMs() - startedAt) / 1_000;
      if (operation === 'requestToken') metrics.countTokenRequest({ account, scope: scope ?? '', outcome });
      else metrics.countUpstreamCall({ account, operation, outcome }, seconds);
    };
    try {
      const result = await call();
      count('ok');
      return result;
    } catch (error) {
      count(error instanceof FaretrailError ? toOutcome(error.code) : 'aborted');
      throw error;
    }
  };
}

/** Makes a span of each call. The service gets no trace. */
export const traceCalls =
  (tracing: Tracing, { operations }: Pick<ContractProfile, 'operations'>): CallWatch =>
  ({ account, operation }, call) => {
    const template = operation === 'requestToken' ? undefined : operations[operation].path.split('?')[0];
    const method = operation === 'requestToken' ? 'POST' : operations[operation].method;
    return tracing.span(
      {
        name: template === undefined ? method : `${method} ${template}`,
        kind: 'CLIENT',
        attributes: {
          'http.request.method': method,
          ...(template !== undefined && { 'url.template': template }),
          'faretrail.account': account.name,
          'faretrail.operation': operation,
        },
      },
      call,
    );
  };
