import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { createFaretrailClient, FaretrailError, type RideInput, type RideResult } from '../../src/client/index.js';
import { runHere } from '../cli/fake-process.js';
import type { CallerWorker } from './caller-worker.js';
import type { ask } from './caller-workflows.js';
import { jsonFile } from './json-file.js';
import type { OrderStack } from './order-stack.js';

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

/** What a caller is told in place of an answer, by its code. */
export class Refusal extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The command line, in this process. */
export function throughCli({ config }: OrderStack): WayIn {
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: config.taskQueue, PATH: '' };
  async function told<Line>(...argv: string[]): Promise<Line> {
    const { exitCode, stdout, stderr } = await runHere([...argv, '--json'], env);
    if (exitCode !== 0) throw new Refusal(codeIn(stderr) ?? 'AlreadyEnded');
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  }
  return {
    name: 'the command line',
    async ride({ account, requestId, order }) {
      const options = ['--input', jsonFile(order), '--request-id', requestId, '--receipt', '--watch'];
      return (await told<{ result: RideResult }>('ride', account, ...options)).result;
    },
    status: async ({ account }, orderId) =>
      (await told<{ trail: { status: string | null } }>('show', account, orderId)).trail.status,
    change: ({ account, requestId }, order) => told('update-ride', account, requestId, '--input', jsonFile(order)),
    cancel: ({ account, requestId }) => told('cancel-ride', account, requestId),
  };
}

const codeIn = (stderr: string): string | undefined =>
  stderr === ''
    ? undefined
    : (JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: { code: string } }).error.code;

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
