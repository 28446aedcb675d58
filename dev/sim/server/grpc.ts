import { Metadata, status } from '@grpc/grpc-js';

/** An error as Temporal's client takes it from a connection. */
export const grpcError = (code: keyof typeof status, details: string): Error =>
  Object.assign(new Error(details), { code: status[code], details, metadata: new Metadata() });
