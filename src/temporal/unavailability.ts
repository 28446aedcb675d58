import {
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  isGrpcServiceError,
  makeGrpcRetryInterceptor,
  NamespaceNotFoundError,
} from '@temporalio/client';
import { TemporalUnavailable } from '../webhooks/delivery-port.js';

/**
 * Add these to the options of the ingress's connection. By themselves the pauses between attempts to connect grow to two
 * minutes; a backlog is to move within a second of Temporal being back.
 */
export const promptConnectionOptions = {
  channelArgs: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 },
  interceptors: [makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxIntervalMs: () => 500 }))],
} as const satisfies ConnectionOptions;

/** gRPC codes that speak of the server, the connection or our right to use it, not of one workflow. */
const serverCodes: readonly number[] = [
  1, // CANCELLED: the connection is being closed
  2, // UNKNOWN
  4, // DEADLINE_EXCEEDED
  7, // PERMISSION_DENIED
  8, // RESOURCE_EXHAUSTED
  14, // UNAVAILABLE
  16, // UNAUTHENTICATED
];

/** `TemporalUnavailable` for what keeps every call from working; anything else as it is. */
export function toUnavailable(error: unknown): unknown {
  const answer = error instanceof Error && isGrpcServiceError(error.cause) ? error.cause : error;
  const isOfServer = isGrpcServiceError(answer) && serverCodes.includes(answer.code);
  return isOfServer || error instanceof NamespaceNotFoundError ? new TemporalUnavailable({ cause: error }) : error;
}
