import { Connection, isGrpcServiceError } from '@temporalio/client';

export interface ReadinessOptions {
  address: string;
  namespace: string;
  searchAttributes: readonly string[];
}

const probeLimitMs = 2_000;
const grpcNotFound = 5;

/** Asks a Temporal server again and again whether it is ready, over one connection. */
export function openReadiness(options: ReadinessOptions): { isReady(): Promise<boolean>; close(): Promise<void> } {
  const channelArgs = { 'grpc.initial_reconnect_backoff_ms': 50, 'grpc.max_reconnect_backoff_ms': 500 };
  const interceptors: [] = []; // without the SDK's own retries
  const connection = Connection.lazy({ address: options.address, channelArgs, interceptors });
  return {
    isReady: () => connection.withDeadline(Date.now() + probeLimitMs, () => isUsable(connection, options)),
    close: () => connection.close(),
  };
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
