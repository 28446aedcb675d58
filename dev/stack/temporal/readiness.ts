import { setTimeout as pause } from 'node:timers/promises';
import { Connection, isGrpcServiceError } from '@temporalio/client';

export interface ReadinessOptions {
  address: string;
  namespace: string;
  searchAttributes: readonly string[];
  /** Ends the wait. */
  signal: AbortSignal;
}

const probeEveryMs = 50;
const probeLimitMs = 2_000;
const grpcNotFound = 5;

/** Waits until the server is ready; false if `signal` ended the wait first. */
export async function waitUntilReady(options: ReadinessOptions): Promise<boolean> {
  const channelArgs = { 'grpc.initial_reconnect_backoff_ms': probeEveryMs, 'grpc.max_reconnect_backoff_ms': 500 };
  const interceptors: [] = []; // without the SDK's own retries, which ignore the signal
  const connection = Connection.lazy({ address: options.address, channelArgs, interceptors });
  try {
    while (!options.signal.aborted) {
      if (await probe(connection, options)) return true;
      await pause(probeEveryMs);
    }
    return false;
  } finally {
    await connection.close();
  }
}

function probe(connection: Connection, options: ReadinessOptions): Promise<boolean> {
  const call = () => isUsable(connection, options);
  const signal = AbortSignal.any([options.signal]); // each call of the SDK adds a listener to it and never removes it
  return connection.withAbortSignal(signal, () => connection.withDeadline(Date.now() + probeLimitMs, call));
}

/** The frontend answers, knows the namespace and the search attributes, and reaches the history service. */
async function isUsable(connection: Connection, { namespace, searchAttributes }: ReadinessOptions): Promise<boolean> {
  const { workflowService } = connection;
  const query = searchAttributes.map((name) => `${name} IS NULL`).join(' AND ');
  const execution = { workflowId: 'readiness-probe' };
  try {
    await workflowService.countWorkflowExecutions({ namespace, query });
    return await workflowService.describeWorkflowExecution({ namespace, execution }).then(() => true, isNotFound);
  } catch {
    return false;
  }
}

/** Means the workflow: with an unknown namespace the count fails first. */
const isNotFound = (error: unknown): boolean => isGrpcServiceError(error) && error.code === grpcNotFound;
