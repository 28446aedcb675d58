import { beforeAll, inject } from 'vitest';
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
  temporal: WayToFollow;
}

/** Every way into the workers of this stack; they can be used from the `beforeAll` of a file on. */
export function useWaysIn(stack: OrderStack): WaysIn {
  const ways = {} as WaysIn;
  beforeAll(() => {
    Object.assign(ways, {
      client: throughClient(stack),
      cli: throughCli(stack),
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
