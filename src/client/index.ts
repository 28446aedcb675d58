export { FaretrailError, InvalidInput } from '../domain/errors.js';
export { type ClientErrorCode, FaretrailClientError } from './client-error.js';
export {
  createFaretrailClient,
  type FaretrailClient,
  type FaretrailClientOptions,
  type FollowOptions,
} from './faretrail-client.js';
export type { FollowOrderInput, OrderHandle, OrderTrail, Receiver } from './order-handle.js';
export type { ParkedDelivery, ParkedHandle, RoutedDelivery } from './parked-handle.js';
export { type PayloadKeysOptions, withPayloadKeys } from './payload-keys.js';
export type { CompanyReport, ReportHandle, ReportInput } from './report-handle.js';
export type { RideHandle, RideInput, RideResolution, RideResult, RideStanding } from './ride-handle.js';
export type { AskOptions } from './run.js';
export type { CallInput, CallResult } from './service-call.js';
