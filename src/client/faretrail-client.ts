import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import {
  type BusinessCallInputSchema,
  BusinessCallResultSchema,
  parseBusinessCallInput,
  toCallerKey,
} from '../domain/call.js';
import { InvalidInput } from '../domain/errors.js';
import { toAccountName, toOrderId } from '../domain/keys.js';
import { parseFollowOrderInput } from '../domain/order/input.js';
import { toDeliveryId } from '../domain/parked.js';
import { parseCompanyReportInput } from '../domain/report.js';
import { parseRequestRideInput } from '../domain/ride/input.js';
import type { Sent } from '../domain/schema.js';
import { parseKeyRing } from '../sealing/key-ring.js';
import { createPayloadCodec } from '../sealing/payload-codec.js';
import { beginFollowing } from '../temporal/follow-start.js';
import { runOf, unlessEnded } from '../temporal/runs.js';
import { businessCallStart, reportStart, rideStart } from '../temporal/starts.js';
import type { businessCall } from '../workflows/business-call.js';
import type { companyReport } from '../workflows/report/company-report.js';
import type { requestRide } from '../workflows/ride/request-ride.js';
import { type FollowOrderInput, type OrderHandle, orderHandle } from './order.js';
import { type ParkedHandle, parkedHandle } from './parked.js';
import { type ReportHandle, type ReportInput, reportHandle } from './report.js';
import { type RideHandle, type RideInput, rideHandle } from './ride.js';
import { toAnswer } from './run.js';

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
      const input = parseFollowOrderInput(given);
      await beginFollowing(client, { input, taskQueue, again });
      return orderHandle(client, input);
    },
    get: (account, orderId) => orderHandle(client, { account: toAccountName(account), orderId: toOrderId(orderId) }),
    async request(given) {
      const input = parseRequestRideInput(given);
      await unlessEnded(client.workflow.start<typeof requestRide>('requestRide', rideStart(input, taskQueue)));
      return rideHandle(client, input);
    },
    getRide: (account, requestId) =>
      rideHandle(client, { account: toAccountName(account), requestId: toCallerKey(requestId, 'requestId') }),
    async followReports(given) {
      const input = parseCompanyReportInput(given);
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

/** What one business operation is called with. */
export type CallInput = Sent<typeof BusinessCallInputSchema>;

/** What it answered. */
export type CallResult = Sent<typeof BusinessCallResultSchema>;

/** Carries one business operation to its end. The same key gives the same answer, and never a second effect. */
async function callOnce(client: Client, taskQueue: string, given: CallInput): Promise<CallResult> {
  const start = businessCallStart(parseBusinessCallInput(given), taskQueue);
  await unlessEnded(client.workflow.start<typeof businessCall>('businessCall', start));
  return await toAnswer(BusinessCallResultSchema, runOf(client, start.workflowId).result());
}

/** How a service treats payloads. */
export interface PayloadKeysOptions {
  /** False: only reads what is encrypted, and writes in clear. Default true. */
  encrypts?: boolean;
}

/**
 * For callers of workers that encrypt payloads: a `dataConverter` for the `Client` that you give to `createFaretrailClient`, and
 * for your own workers. `keys` is the text of the workers' `FARETRAIL_PAYLOAD_KEYS`. Throws `InvalidInput`.
 */
export function withPayloadKeys(keys: string, { encrypts = true }: PayloadKeysOptions = {}): DataConverter {
  const parsed = parseKeyRing(keys);
  if ('problems' in parsed) throw new InvalidInput(`payload keys: ${parsed.problems.join('; ')}`);
  return { payloadCodecs: [createPayloadCodec({ keys: parsed.ring, encrypts })] };
}
