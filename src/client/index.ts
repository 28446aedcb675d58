export { FaretrailError, InvalidInput } from '../domain/errors.js';
export { type ClientErrorCode, FaretrailClientError } from '../temporal/run-errors.js';
export {
  type CallInput,
  type CallResult,
  createFaretrailClient,
  type FaretrailClient,
  type FaretrailClientOptions,
  type FollowOptions,
  type PayloadKeysOptions,
  withPayloadKeys,
} from './faretrail-client.js';
export type { FollowOrderInput, OrderHandle, OrderTrail, Receiver } from './order.js';
export type { ParkedDelivery, ParkedHandle, RoutedDelivery } from './parked.js';
export type { CompanyReport, ReportHandle, ReportInput } from './report.js';
export type { RideHandle, RideInput, RideResolution, RideResult, RideStanding } from './ride.js';
export type { AskOptions } from './run.js';
