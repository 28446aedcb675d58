import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { type ActivityInboundCallsInterceptor, DefaultLogger, Runtime, type WorkerOptions } from '@temporalio/worker';
import { defaultContractProfile } from '../src/contracts/default-contract-profile.js';
import { searchAttributeNames } from '../src/domain/search-attribute-names.js';
import { createRideApi, type RideApi } from '../src/ride-api/ride-api.js';
import { fourHourRide } from './rides.js';

/** A server that skips time, and a service that follows its clock. */
export interface VirtualTime {
  env: TestWorkflowEnvironment;
  /** Each of its orders is a ride of four hours, which begins with the first read. */
  rideApi: RideApi;
  now: () => number;
  /** An interceptor for workers, so that their activities know the server's clock. */
  options: Partial<WorkerOptions>;
  calls(): { reads: number; tokens: number };
}

const keyword = 2; // temporal.api.enums.v1.IndexedValueType

export async function startVirtualTime(timeSkippingServer: string): Promise<VirtualTime> {
  installRuntime();
  const executable = { type: 'existing-path' as const, path: timeSkippingServer };
  const env = await TestWorkflowEnvironment.createTimeSkipping({ server: { executable } });
  const searchAttributes = Object.fromEntries(Object.values(searchAttributeNames).map((name) => [name, keyword]));
  await env.connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
  showPollers(env);
  const startedAt = new AsyncLocalStorage<number>();
  const now = () => startedAt.getStore() ?? Number.NaN;
  const execute: ActivityInboundCallsInterceptor['execute'] = async (input, next) =>
    startedAt.run(await env.currentTimeMs(), () => next(input));
  // This server loses a task that it gives to a poll which autoscaling withdraws, and its clock stands still meanwhile.
  const pollers = { type: 'simple-maximum' as const, maximum: 4 };
  const options = {
    interceptors: { activity: [() => ({ inbound: { execute } })] },
    activityTaskPollerBehavior: pollers,
    workflowTaskPollerBehavior: pollers,
  };
  return { env, now, options, ...createVirtualService(now) };
}

const endOfTime = 4_000_000_000;

/** This server does not tell who polls a task queue. Here that is one worker, at all times. */
function showPollers({ client: { workflowService } }: TestWorkflowEnvironment): void {
  const pollers = [{ identity: 'bench', lastAccessTime: { seconds: endOfTime } }];
  Object.assign(workflowService, { describeTaskQueue: async () => ({ pollers }) });
}

let isInstalled = false;

/** Once for a process: two parts of the bench start a server each. */
function installRuntime(): void {
  if (isInstalled) return;
  isInstalled = true;
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
  });
}

function createVirtualService(now: () => number): Pick<VirtualTime, 'rideApi' | 'calls'> {
  const calls = { reads: 0, tokens: 0 };
  const firstReads = new Map<string, number>();
  const rideApi: RideApi = {
    ...createRideApi({ profile: defaultContractProfile }),
    async requestToken() {
      calls.tokens += 1;
      return { accessToken: 'virtual', lifetimeMs: 3_600_000, grantedScope: null, requestedAt: now() };
    },
    async createSubscriber(_account, { deliveryAddress }) {
      const at = new Date(now()).toISOString();
      return { id: randomUUID(), secretId: randomUUID(), deliveryAddress, createdAt: at, updatedAt: at };
    },
    async readOrder(_account, orderId) {
      calls.reads += 1;
      const begunAt = firstReads.get(orderId) ?? now();
      firstReads.set(orderId, begunAt);
      const [status] = fourHourRide.findLast(([, fromMs]) => begunAt + fromMs <= now()) ?? ['Pending'];
      return { status, rawStatus: status, terminal: status === 'Completed', details: null };
    },
  };
  return { rideApi, calls: () => ({ ...calls }) };
}
