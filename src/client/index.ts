export { FaretrailError, InvalidInput } from '../domain/errors.js';
export { type ClientErrorCode, FaretrailClientError } from './client-error.js';
export { createFaretrailClient, type FaretrailClient, type FaretrailClientOptions } from './faretrail-client.js';
export type { FollowOrderInput, OrderHandle, OrderTrail } from './order-handle.js';
export type { RideHandle, RideInput, RideResolution, RideResult, RideStanding } from './ride-handle.js';
export type { AskOptions } from './run.js';
export type { CallInput, CallResult } from './service-call.js';
