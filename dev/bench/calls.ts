import { randomUUID } from 'node:crypto';
import { createFaretrailClient } from '../../src/client/index.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import type { Account } from '../../src/domain/account.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { noWatch } from '../../src/domain/order/concern.js';
import { createRideApi } from '../../src/ride-api/ride-api.js';
import { sandboxCredentials } from '../sandbox/sandbox.js';
import { closedLoop } from './closed-loop.js';
import { quantile } from './open-load.js';
import type { Measure } from './report.js';
import { inFolder, type Rounds, repeat } from './rounds.js';
import { noPolls } from './settings.js';
import { openSite, type Site, type TemporalSource } from './site.js';

export interface CallsOptions extends Rounds {
  temporal: TemporalSource;
}

interface CallFigures {
  perSecond: number;
  p50: number;
  p99: number;
}

type Call = () => Promise<unknown>;

const account = toAccountName('business');
const orderId = toOrderId('42');
const inFlight = 64;
const many = { count: 1_500, inFlight, limitMs: 20_000 };
const oneByOne = { count: 200, inFlight: 1, limitMs: 20_000 };

/** A durable read through the typed client, and the HTTP request alone. */
type CallRound = Record<'durable' | 'direct', CallFigures>;

/** Measures the cost of a durable call, here a read of an order, and of the same HTTP call made directly. */
export async function benchCalls({ temporal, ...asked }: CallsOptions): Promise<Measure[]> {
  const results = await inFolder((folder) =>
    repeat(asked, 'calls, about 30 s', async () => {
      const site = await openSite({ folder, temporal }, { workers: 1, cadence: noPolls });
      try {
        site.sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Driving', afterMs: 0 }] });
        const direct = await measure(await directCall(site));
        return { direct, durable: await measure(durableCall(site)) };
      } finally {
        await site.close();
      }
    }),
  );
  return toMeasures(results);
}

function durableCall({ client, taskQueue }: Site): Call {
  const rides = createFaretrailClient({ client, taskQueue });
  return () => rides.call({ account, operation: 'orderDetails', key: randomUUID(), orderId });
}

async function directCall({ sandbox }: Site): Promise<Call> {
  const { clientId, clientSecret, businessId } = sandboxCredentials.business;
  const shared = { requestsPerSecond: 1_000, poll: noPolls, watch: noWatch, untracked: 'ignore' as const };
  const held: Account = {
    ...{ name: account, interface: 'business', baseUrl: sandbox.url, authUrl: sandbox.url },
    ...{ clientId, clientSecret, businessId, ...shared },
  };
  const api = createRideApi({ profile: defaultContractProfile });
  const { accessToken } = await api.requestToken(held, api.scopeOf(held, 'orderDetails'));
  const call = { account, operation: 'orderDetails' as const, orderId, requestId: 'bench' };
  return () => api.callOperation(held, call, accessToken);
}

async function measure(call: Call): Promise<CallFigures> {
  await closedLoop({ ...many, count: 100 }, call); // warm
  const startedAt = performance.now();
  const done = await closedLoop(many, call);
  const perSecond = (done.length * 1_000) / (performance.now() - startedAt);
  const latencies = await closedLoop(oneByOne, async () => {
    const askedAt = performance.now();
    await call();
    return performance.now() - askedAt;
  });
  const sorted = Float64Array.from(latencies).sort();
  return { perSecond, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
}

function toMeasures(results: readonly CallRound[]): Measure[] {
  const roundsOf = (key: keyof CallFigures) =>
    results.map(({ durable, direct }) => ({ faretrail: durable[key], plain: direct[key] }));
  return [
    { name: `${inFlight} in flight`, unit: 'calls/s', better: 'higher', rounds: roundsOf('perSecond') },
    { name: 'one at a time: p50', unit: 'ms', better: 'lower', rounds: roundsOf('p50') },
    { name: 'one at a time: p99', unit: 'ms', better: 'lower', rounds: roundsOf('p99') },
  ];
}
