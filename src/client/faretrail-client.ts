import type { Client } from '@temporalio/client';
import { FollowOrderInputShape } from '../contracts/order-shapes.js';
import { CompanyReportInputShape } from '../contracts/report-shapes.js';
import { RequestRideInputShape } from '../contracts/ride-shapes.js';
import { toCallerKey } from '../domain/business-call-input.js';
import { parseCompanyReportInput } from '../domain/company-report-input.js';
import { parseFollowOrderInput } from '../domain/follow-input.js';
import { toAccountName, toOrderId } from '../domain/keys.js';
import { toDeliveryId } from '../domain/parked-delivery-input.js';
import { parseRequestRideInput } from '../domain/ride-input.js';
import { beginFollowing } from '../temporal/follow-start.js';
import { reportStart } from '../temporal/report-start.js';
import { rideStart } from '../temporal/ride-start.js';
import type { companyReport } from '../workflows/company-report.js';
import type { requestRide } from '../workflows/request-ride.js';
import { type FollowOrderInput, type OrderHandle, orderHandle } from './order-handle.js';
import { type ParkedHandle, parkedHandle } from './parked-handle.js';
import { type ReportHandle, type ReportInput, reportHandle } from './report-handle.js';
import { type RideHandle, type RideInput, rideHandle } from './ride-handle.js';
import { startOnce } from './run.js';
import { type CallInput, type CallResult, callOnce } from './service-call.js';
import { toInput } from './shapes.js';

/** What the typed client is made of. */
export interface FaretrailClientOptions {
  /** A client of `@temporalio/client` at the namespace of the workers. Whoever made it closes its connection. */
  client: Client;
  /** Default `faretrail`; the setting `FARETRAIL_TASK_QUEUE` of the workers. */
  taskQueue?: string;
}

/** What following an order may be told. */
export interface FollowOptions {
  /** Also follow an order whose following was stopped or has expired. An order that has ended at the service stays so. */
  again?: boolean;
}

/**
 * Everything another service may ask of the workers. Inputs and answers are checked: wrong input is `InvalidInput` before
 * anything is sent, all else a `FaretrailClientError`. Starting needs no live worker.
 */
export interface FaretrailClient {
  /** Follows an order, once however often it is asked for: a run that goes on takes what it does not know yet. One whose following
   *  broke off is followed again; of one that has ended the handle gives the end. */
  follow(input: FollowOrderInput, options?: FollowOptions): Promise<OrderHandle>;
  /** A handle of an order that is or was followed. Asks nobody. */
  get(account: string, orderId: string): OrderHandle;
  /** Requests a ride, once for each `requestId` however often it is asked for. */
  request(input: RideInput): Promise<RideHandle>;
  /** A handle of a ride that is or was requested. Asks nobody. */
  getRide(account: string, requestId: string): RideHandle;
  /** Follows the reports about an order before the first one comes, so that `notify` is told of it; once however often it is
   *  asked for. */
  followReports(input: ReportInput): Promise<ReportHandle>;
  /** A handle of the reports about an order. Asks nobody. */
  getReports(account: string, orderId: string): ReportHandle;
  /** A handle of a delivery that nobody could place. Asks nobody. */
  getParked(account: string, deliveryId: string): ParkedHandle;
  /** One business operation, durably: waits for its answer. The same `key` never makes a second effect. */
  call(input: CallInput): Promise<CallResult>;
}

/** The typed client of a service that runs no worker of ours. */
export function createFaretrailClient({ client, taskQueue = 'faretrail' }: FaretrailClientOptions): FaretrailClient {
  return {
    async follow(given, { again = false } = {}) {
      const input = parseFollowOrderInput(toInput(FollowOrderInputShape, given));
      await beginFollowing(client, { input, taskQueue, again });
      return orderHandle(client, input);
    },
    get: (account, orderId) => orderHandle(client, { account: toAccountName(account), orderId: toOrderId(orderId) }),
    async request(given) {
      const input = parseRequestRideInput(toInput(RequestRideInputShape, given));
      await startOnce(() => client.workflow.start<typeof requestRide>('requestRide', rideStart(input, taskQueue)));
      return rideHandle(client, input);
    },
    getRide: (account, requestId) =>
      rideHandle(client, { account: toAccountName(account), requestId: toCallerKey(requestId, 'requestId') }),
    async followReports(given) {
      const input = parseCompanyReportInput(toInput(CompanyReportInputShape, given));
      const key = { account: input.account, about: toOrderId(given.orderId) };
      await client.workflow.start<typeof companyReport>('companyReport', reportStart(key, input, taskQueue));
      return reportHandle(client, key);
    },
    getReports: (account, orderId) =>
      reportHandle(client, { account: toAccountName(account), about: toOrderId(orderId) }),
    getParked: (account, deliveryId) =>
      parkedHandle(client, { account: toAccountName(account), deliveryId: toDeliveryId(deliveryId) }),
    call: (input) => callOnce(client, taskQueue, input),
  };
}
