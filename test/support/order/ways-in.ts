import { randomUUID } from 'node:crypto';
import { expect, inject, vi } from 'vitest';
import {
  createFaretrailClient,
  FaretrailError,
  type FollowOrderInput,
  type RideInput,
  type RideResult,
} from '../../../src/client/index.js';
import { runHere } from '../../cli/fake-process.js';
import { jsonFile } from '../json-file.js';
import { patient } from '../patience.js';
import type { CallerWorker } from '../worker/caller-worker.js';
import type { ask } from '../worker/caller-workflows.js';
import type { OrderStack } from './stack.js';

/** One ride, as every way in names it. */
export interface RideKey {
  account: string;
  requestId: string;
}

/** What a caller can do about rides. All of it fails with `Refusal`. */
export interface WayIn {
  name: string;
  /** Orders it and waits for its end. */
  ride(input: RideInput): Promise<RideResult>;
  status(key: RideKey, orderId: string): Promise<string | null>;
  change(key: RideKey, order: Record<string, unknown>): Promise<unknown>;
  cancel(key: RideKey): Promise<unknown>;
}

/** One way to have an order followed. */
export interface WayToFollow {
  name: string;
  /** What an order can be followed with; the command line has no option for `followForMs`. */
  hasFollowForMs: boolean;
  /** Does the run go on with the timeline of one that ended before? A caller with Temporal's SDK alone starts afresh. */
  continues: boolean;
  /** Resolves once Temporal has it. `again`: the caller says that the end of an earlier run was a mistake. */
  follow(input: FollowOrderInput, again?: boolean): Promise<unknown>;
}

/** What a caller is told in place of an answer, by its code. */
export class Refusal extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Runs a command in this process, and gives the last line of its JSON. */
function commandLine({ config }: OrderStack) {
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: config.taskQueue, PATH: '' };
  return async function told<Line>(...argv: string[]): Promise<Line> {
    const { exitCode, stdout, stderr } = await runHere([...argv, '--json'], env);
    if (exitCode !== 0) throw new Refusal(codeIn(stderr) ?? 'AlreadyEnded');
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  };
}

/** The command line. */
export function throughCli(stack: OrderStack): WayIn {
  const told = commandLine(stack);
  return {
    name: 'the command line',
    async ride({ account, requestId, order }) {
      const options = ['--input', jsonFile(order), '--request-id', requestId, '--receipt', '--watch'];
      return (await told<{ result: RideResult }>('ride', 'request', account, ...options)).result;
    },
    status: async ({ account }, orderId) =>
      (await told<{ trail: { status: string | null } }>('order', 'show', account, orderId)).trail.status,
    change: ({ account, requestId }, order) => told('ride', 'update', account, requestId, '--input', jsonFile(order)),
    cancel: ({ account, requestId }) => told('ride', 'cancel', account, requestId),
  };
}

const codeIn = (stderr: string): string | undefined =>
  stderr === ''
    ? undefined
    : (JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: { code: string } }).error.code;

/** The same for orders. */
export function followThroughCli(stack: OrderStack): WayToFollow {
  const told = commandLine(stack);
  return {
    name: 'the command line',
    hasFollowForMs: false,
    continues: true,
    follow({ account, orderId, reference, scheduledAt, notify }, again) {
      const receivers = (notify ?? []).flatMap((who) => [
        '--notify',
        'url' in who ? who.url : `${who.workflowId}:${who.signal}`,
      ]);
      const options = [
        ...(reference ? ['--reference', reference] : []),
        ...(scheduledAt ? ['--scheduled-at', scheduledAt] : []),
        ...(again ? ['--again'] : []),
      ];
      return told('order', 'follow', account, String(orderId), ...options, ...receivers);
    },
  };
}

/** The typed client. */
export function throughClient({ client, config }: OrderStack): WayIn {
  const rides = createFaretrailClient({ client, taskQueue: config.taskQueue });
  const of = ({ account, requestId }: RideKey) => rides.getRide(account, requestId);
  const refused = (error: unknown): never => {
    throw error instanceof FaretrailError ? new Refusal(error.code) : error;
  };
  return {
    name: 'the typed client',
    ride: async (input) => await (await rides.request({ receipt: true, ...input })).result().catch(refused),
    status: async (key) => (await of(key).status().catch(refused)).status,
    change: (key, order) => of(key).change(order).catch(refused),
    cancel: (key) => of(key).cancel().catch(refused),
  };
}

/** The same for orders. */
export function followThroughClient({ client, config }: OrderStack): WayToFollow {
  const rides = createFaretrailClient({ client, taskQueue: config.taskQueue });
  return {
    name: 'the typed client',
    hasFollowForMs: true,
    continues: true,
    follow: (input, again) => (again ? rides.follow(input, { again }) : rides.follow(input)),
  };
}

/** Temporal's own SDK and nothing of ours, as the docs show it for other languages. */
export function followThroughTemporal({ client, config }: OrderStack): WayToFollow {
  return {
    name: 'a signal with a start',
    hasFollowForMs: true,
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
  };
}

/** A workflow in another namespace. */
export function throughNexus(caller: CallerWorker, endpoint: string): WayIn {
  const withinMs = 240_000;
  async function asks<Answer>(operation: Parameters<typeof ask>[1], input: object): Promise<Answer> {
    const { answer, type } = await caller.client.workflow.execute<typeof ask>('ask', {
      workflowId: randomUUID(),
      taskQueue: caller.taskQueue,
      args: [endpoint, operation, input, withinMs],
    });
    if (answer === undefined) throw new Refusal(type ?? 'Cancelled');
    return answer as Answer;
  }
  return {
    name: 'Nexus',
    ride: (input) => asks('requestRide', { receipt: true, ...input }),
    status: async (key) => (await asks<{ status: string | null }>('rideStatus', key)).status,
    change: (key, order) => asks('updateRide', { ...key, order }),
    cancel: (key) => asks('cancelRide', key),
  };
}

const operationStarted = 3; // PENDING_NEXUS_OPERATION_STATE_STARTED

/** The same for orders. The operation ends with the order, so it is not awaited. */
export function followThroughNexus(caller: CallerWorker, endpoint: string): WayToFollow {
  return {
    name: 'Nexus',
    hasFollowForMs: true,
    continues: true,
    async follow(input, again) {
      const asking = await caller.client.workflow.start<typeof ask>('ask', {
        workflowId: randomUUID(),
        taskQueue: caller.taskQueue,
        args: [endpoint, 'followOrder', again ? { ...input, again } : input, 240_000],
      });
      await vi.waitFor(async () => {
        const { status, raw } = await asking.describe();
        const isAnswered = status.name !== 'RUNNING';
        expect(isAnswered || raw.pendingNexusOperations?.[0]?.state === operationStarted).toBe(true);
      }, patient);
    },
  };
}
