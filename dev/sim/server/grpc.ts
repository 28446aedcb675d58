import { Metadata, status } from '@grpc/grpc-js';

/** An error in the form that Temporal's client expects from gRPC. */
export const grpcError = (code: keyof typeof status, details: string): Error =>
  Object.assign(new Error(details), { code: status[code], details, metadata: new Metadata() });
