import { Counter, Histogram, Registry } from 'prom-client';

export interface UpstreamCallCount {
  account: string;
  operation: string;
  /** `ok` or the code of the failure. */
  outcome: string;
  seconds: number;
}

/** What a worker counts. Labels hold names from closed lists only: an id or a foreign word would make a series each. */
export interface WorkerMetrics {
  registry: Registry;
  countTokenRequest(request: { account: string; scope: string; outcome: string }): void;
  countUpstreamCall(call: UpstreamCallCount): void;
}

// The deadline of a call is 30 s at most; 429 and slow answers are what an operator looks for.
const callSeconds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** A registry of its own, so that two workers in one process (tests) do not count together. */
export function createWorkerMetrics(): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  const tokenRequests = new Counter({
    name: 'faretrail_token_requests_total',
    help: 'Requests to token endpoints by their outcome: ok or the code of the failure.',
    labelNames: ['account', 'scope', 'outcome'],
    registers,
  });
  const upstreamCalls = new Counter({
    name: 'faretrail_upstream_calls_total',
    help: 'Calls to the ride service, token requests apart, by their outcome: ok or the code of the failure.',
    labelNames: ['account', 'operation', 'outcome'],
    registers,
  });
  const upstreamCallSeconds = new Histogram({
    name: 'faretrail_upstream_call_seconds',
    help: 'How long calls to the ride service took, whatever their outcome.',
    labelNames: ['operation'],
    buckets: callSeconds,
    registers,
  });
  return {
    registry,
    countTokenRequest: ({ account, scope, outcome }) =>
      tokenRequests.inc({ account, scope: scope || 'unscoped', outcome }),
    countUpstreamCall({ account, operation, outcome, seconds }) {
      upstreamCalls.inc({ account, operation, outcome });
      upstreamCallSeconds.observe({ operation }, seconds);
    },
  };
}
