import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sandboxCredentials } from '../sandbox/sandbox.js';
import { createFaretrailClient } from '../src/client/index.js';
import { defaultContractProfile } from '../src/contracts/default-contract-profile.js';
import type { Account } from '../src/domain/account.js';
import { toAccountName, toOrderId } from '../src/domain/keys.js';
import { noWatch } from '../src/domain/order/concern.js';
import { createRideApi } from '../src/ride-api/ride-api.js';
import { businessCallStart } from '../src/temporal/starts.js';
import { type Cell, openCell } from './cell.js';
import { closedLoop } from './closed-loop.js';
import { quantile } from './open-load.js';
import { type Measure, type Summary, summarize } from './report.js';
import type { TemporalSource } from './temporal-source.js';

export interface CallsOptions {
  temporal: TemporalSource;
  rounds: number;
  say: (line: string) => void;
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
const slow = { activeMs: 3_600_000, reservedMs: 3_600_000, pushedMs: 3_600_000 };

/** A durable read as a workflow, which is how callers in other languages make it; as the activity by itself; the HTTP request alone. */
type CallSide = 'workflow' | 'activity' | 'direct';
type CallRound = Record<CallSide, CallFigures>;

/** Measures the cost of a durable call, here a read of an order: the typed client's, a `businessCall`, and the same HTTP call made directly. */
export async function benchCalls({ temporal, rounds, say }: CallsOptions): Promise<Summary[]> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  try {
    const place = { folder, temporal, trackerCodePath: '' };
    const results: CallRound[] = [];
    for (let round = 0; round < rounds; round += 1) {
      say(`calls: round ${round + 1} of ${rounds}, about 45 s`);
      const cell = await openCell(place, { side: 'faretrail', processes: 1, cadence: slow });
      try {
        cell.sandbox.addOrder({ interface: 'business', orderId, script: [{ status: 'Driving', afterMs: 0 }] });
        const direct = await measure(await directCall(cell));
        // Each goes first in every other round: the database of the server grows.
        const durable = round % 2 === 0 ? [workflowCall, activityCall] : [activityCall, workflowCall];
        const figures = new Map<typeof workflowCall, CallFigures>();
        for (const call of durable) figures.set(call, await measure(call(cell)));
        const of = (call: typeof workflowCall): CallFigures => figures.get(call) ?? direct;
        results.push({ direct, workflow: of(workflowCall), activity: of(activityCall) });
      } finally {
        await cell.close();
      }
    }
    return toMeasures(results).map(summarize);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const newInput = () => ({ account, operation: 'orderDetails' as const, key: randomUUID(), orderId });

function workflowCall({ client, taskQueue }: Cell): Call {
  return () => client.workflow.execute('businessCall', businessCallStart(newInput(), taskQueue));
}

function activityCall({ client, taskQueue }: Cell): Call {
  const rides = createFaretrailClient({ client, taskQueue });
  return () => rides.call(newInput());
}

async function directCall({ sandbox }: Cell): Promise<Call> {
  const { clientId, clientSecret, businessId } = sandboxCredentials.business;
  const shared = { requestsPerSecond: 1_000, poll: slow, watch: noWatch, untracked: 'ignore' as const };
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
  const beside = (other: 'workflow' | 'direct', key: keyof CallFigures) =>
    results.map((round) => ({ faretrail: round.activity[key], plain: round[other][key] }));
  const measuresBeside = (other: 'workflow' | 'direct', name: string): Measure[] => [
    {
      ...{ name: `${inFlight} in flight, beside ${name}`, unit: 'calls/s', better: 'higher' },
      rounds: beside(other, 'perSecond'),
      ...(other === 'workflow' ? goal : {}),
    },
    {
      ...{ name: `one at a time, beside ${name}: p50`, unit: 'ms', better: 'lower' },
      rounds: beside(other, 'p50'),
      ...(other === 'workflow' ? goal : {}),
    },
    { name: `one at a time, beside ${name}: p99`, unit: 'ms', better: 'lower', rounds: beside(other, 'p99') },
  ];
  return [...measuresBeside('workflow', 'a workflow'), ...measuresBeside('direct', 'the request alone')];
}

const goal = { goal: { text: '2x', of: 'factor', limit: 2 } } as const;
