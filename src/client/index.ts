export { FaretrailError, InvalidInput } from '../domain/errors.js';
export { type ClientErrorCode, FaretrailClientError } from '../temporal/run-errors.js';
export {
  type CallInput,
  type CallResult,
  createFaretrailClient,
  type FaretrailClient,
  type FaretrailClientOptions,
  type FollowedOrder,
  type FollowManyOptions,
  type FollowOptions,
  type PayloadKeysOptions,
  withPayloadKeys,
} from './faretrail-client.js';
export type {
  AskOptions,
  CompanyReport,
  FollowOrderInput,
  OrderHandle,
  OrderTrail,
  ParkedDelivery,
  ParkedHandle,
  Receiver,
  ReportHandle,
  ReportInput,
  RideHandle,
  RideInput,
  RideResolution,
  RideResult,
  RideStanding,
  RoutedDelivery,
} from './handles.js';
