import { randomUUID } from 'node:crypto';
import { beforeAll, expect, inject, vi } from 'vitest';
import { ensureEndpoint } from '../../../dev/stack/run/nexus-endpoint.js';
import {
  type CallInput,
  type CallResult,
  createFaretrailClient,
  FaretrailError,
  type FollowOrderInput,
  type RideInput,
  type RideResult,
} from '../../../src/client/index.js';
import { runHere } from '../../cli/fake-process.js';
import { jsonFile } from '../json-file.js';
import { patient } from '../patience.js';
import { type CallerWorker, useCallerWorker } from '../worker/caller-worker.js';
import type { ask } from '../worker/caller-workflows.js';
import type { OrderStack } from './stack.js';

/** One ride, as every way in names it. */
export interface RideKey {
  account: string;
  requestId: string;
}

/** One way to have an order followed. */
export interface WayToFollow {
  /** Does the run go on with what one that ended before left? A caller with Temporal's SDK alone starts afresh. */
  continues: boolean;
  /** Resolves once Temporal has it. `again`: the caller says that the end of an earlier run was a mistake. */
  follow(input: FollowOrderInput, again?: boolean): Promise<unknown>;
}

/** What a caller can do about orders, rides and single calls. All of it fails with `Refusal`. */
export interface WayIn extends WayToFollow {
  /** Orders it and waits for its end. */
  ride(input: RideInput): Promise<RideResult>;
  status(key: RideKey, orderId: string): Promise<string | null>;
  change(key: RideKey, order: Record<string, unknown>): Promise<unknown>;
  cancel(key: RideKey): Promise<unknown>;
  resolve(key: RideKey, resolution: { orderId: string } | { giveUp: true; reason: string }): Promise<unknown>;
  call(input: CallInput): Promise<CallResult>;
}

/** What a caller is told in place of an answer, by its code. */
export class Refusal extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The ways into the workers of a stack. */
interface WaysIn {
  client: WayIn;
  cli: WayIn;
  nexus: WayIn;
  temporal: WayToFollow;
}

/** Every way into the workers of this stack; they can be used from the `beforeAll` of a file on. */
export function useWaysIn(stack: OrderStack): WaysIn {
  const ways = {} as WaysIn;
  const endpoint = `rides-${randomUUID()}`;
  const caller = useCallerWorker(stack);
  beforeAll(async () => {
    await ensureEndpoint(stack.client, { name: endpoint, taskQueue: stack.config.taskQueue });
    Object.assign(ways, {
      client: throughClient(stack),
      cli: throughCli(stack),
      nexus: throughNexus(caller, endpoint),
      temporal: throughTemporal(stack),
    } satisfies WaysIn);
  });
  return ways;
}

/** The command line: each command in this process, of whose JSON the last line counts. */
function throughCli({ config }: OrderStack): WayIn {
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: config.taskQueue, PATH: '' };
  async function told<Line>(...argv: string[]): Promise<Line> {
    const { exitCode, stdout, stderr } = await runHere([...argv, '--json'], env);
    if (exitCode !== 0) throw new Refusal(codeIn(stderr) ?? 'AlreadyEnded');
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  }
  const given = (option: string, value: unknown): string[] => (value ? [option, String(value)] : []);
  return {
    continues: true,
    follow({ account, orderId, reference, scheduledAt, notify }, again) {
      const receivers = (notify ?? []).map((who) => ('url' in who ? who.url : `${who.workflowId}:${who.signal}`));
      const options = [
        ...given('--reference', reference),
        ...given('--scheduled-at', scheduledAt),
        ...(again ? ['--again'] : []),
        ...receivers.flatMap((who) => ['--notify', who]),
      ];
      return told('order', 'follow', account, String(orderId), ...options);
    },
    async ride({ account, requestId, order, receipt }) {
      const options = ['--input', jsonFile(order), '--request-id', requestId, ...(receipt ? ['--receipt'] : [])];
      return (await told<{ result: RideResult }>('ride', 'request', account, ...options, '--watch')).result;
    },
    status: async ({ account }, orderId) =>
      (await told<{ trail: { status: string | null } }>('order', 'show', account, orderId)).trail.status,
    change: ({ account, requestId }, order) => told('ride', 'update', account, requestId, '--input', jsonFile(order)),
    cancel: ({ account, requestId }) => told('ride', 'cancel', account, requestId),
    resolve({ account, requestId }, resolution) {
      const found = 'orderId' in resolution ? ['--order', resolution.orderId] : ['--give-up', resolution.reason];
      return told('ride', 'resolve', account, requestId, ...found);
    },
    async call({ account, operation, key, orderId, body }) {
      const options = [...given('--order', orderId), ...given('--input', body && jsonFile(body))];
      return (await told<{ result: CallResult }>('call', account, operation, '--key', key, ...options)).result;
    },
  };
}

const codeIn = (stderr: string): string | undefined =>
  stderr === ''
    ? undefined
    : (JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: { code: string } }).error.code;

/** The typed client. */
function throughClient({ client, config }: OrderStack): WayIn {
  const rides = createFaretrailClient({ client, taskQueue: config.taskQueue });
  const of = ({ account, requestId }: RideKey) => rides.getRide(account, requestId);
  const refused = (error: unknown): never => {
    throw error instanceof FaretrailError ? new Refusal(error.code) : error;
  };
  return {
    continues: true,
    follow: (input, again) => (again ? rides.follow(input, { again }) : rides.follow(input)),
    ride: async (input) => await (await rides.request(input)).result().catch(refused),
    status: async (key) => (await of(key).status().catch(refused)).status,
    change: (key, order) => of(key).change(order).catch(refused),
    cancel: (key) => of(key).cancel().catch(refused),
    resolve: (key, resolution) => of(key).resolve(resolution).catch(refused),
    call: (input) => rides.call(input).catch(refused),
  };
}

/** Temporal's own SDK and nothing of ours, as the docs show it for other languages. */
const throughTemporal = ({ client, config }: OrderStack): WayToFollow => ({
  continues: false,
  follow({ account, orderId, ...request }, again) {
    return client.workflow.signalWithStart('followOrder', {
      workflowId: `order/${account}/${orderId}`,
      taskQueue: config.taskQueue,
      args: [{ account, orderId, ...request }],
      signal: 'followRequested',
      signalArgs: [request],
      workflowIdReusePolicy: again ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
  },
});

const operationStarted = 3; // PENDING_NEXUS_OPERATION_STATE_STARTED

/** A workflow in another namespace. */
function throughNexus(caller: CallerWorker, endpoint: string): WayIn {
  const start = (operation: Parameters<typeof ask>[1], input: object) =>
    caller.client.workflow.start<typeof ask>('ask', {
      workflowId: randomUUID(),
      taskQueue: caller.taskQueue,
      args: [endpoint, operation, input, 240_000],
    });
  async function asks<Answer>(operation: Parameters<typeof ask>[1], input: object): Promise<Answer> {
    const { answer, type } = await (await start(operation, input)).result();
    if (answer === undefined) throw new Refusal(type ?? 'Cancelled');
    return answer as Answer;
  }
  return {
    continues: true,
    // The operation ends with the order, so it is not awaited.
    async follow(input, again) {
      const asking = await start('followOrder', again ? { ...input, again } : input);
      await vi.waitFor(async () => {
        const { status, raw } = await asking.describe();
        const isAnswered = status.name !== 'RUNNING';
        expect(isAnswered || raw.pendingNexusOperations?.[0]?.state === operationStarted).toBe(true);
      }, patient);
    },
    ride: (input) => asks('requestRide', input),
    status: async (key) => (await asks<{ status: string | null }>('rideStatus', key)).status,
    change: (key, order) => asks('updateRide', { ...key, order }),
    cancel: (key) => asks('cancelRide', key),
    resolve: (key, resolution) => asks('resolveRide', { ...key, ...resolution }),
    call: (input) => asks('businessCall', input),
  };
}
