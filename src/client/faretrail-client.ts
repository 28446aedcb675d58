import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { pMapIterable } from 'p-map';
import { monotonicMs } from '../clock.js';
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
import { defaultTaskQueue } from '../domain/task-queues.js';
import { parseKeyRing } from '../sealing/key-ring.js';
import { createPayloadCodec } from '../sealing/payload-codec.js';
import { runOf, unlessEnded } from '../temporal/runs.js';
import { beginFollowing, businessCallStart, reportStart, rideStart, startFirst } from '../temporal/starts.js';
import type { businessCall } from '../workflows/business-call.js';
import type { companyReport } from '../workflows/report/company-report.js';
import type { requestRide } from '../workflows/ride/request-ride.js';
import {
  type FollowOrderInput,
  type OrderHandle,
  orderHandle,
  type ParkedHandle,
  parkedHandle,
  type ReportHandle,
  type ReportInput,
  type RideHandle,
  type RideInput,
  reportHandle,
  rideHandle,
  toAnswer,
} from './handles.js';

/** What the typed client is made of. */
export interface FaretrailClientOptions {
  /** A client of `@temporalio/client` at the namespace of the workers. Its maker closes the connection. */
  client: Client;
  /** The setting `FARETRAIL_TASK_QUEUE` of the workers. Default `faretrail`. */
  taskQueue?: string;
}

/** Options of `follow`. */
export interface FollowOptions {
  /** Also start another run after one that was stopped or has expired. After the end of the order there is never another run. */
  again?: boolean;
}

/** Options of `followMany`. */
export interface FollowManyOptions extends FollowOptions {
  /** Orders a second. Default 100. */
  perSecond?: number;
  /** Orders at once. Default 16. */
  atOnce?: number;
}

/** What became of one input of `followMany`. `isNew`: Temporal knew no run of the order before. */
export type FollowedOrder = { order: OrderHandle; isNew: boolean } | { error: InvalidInput };

/**
 * Everything that another service can have the workers do. The client checks inputs and answers: for a wrong input it throws
 * `InvalidInput` and sends nothing, for any other failure `FaretrailClientError`. A start needs no live worker.
 */
export type FaretrailClient = ReturnType<typeof createFaretrailClient>;

/** The typed client of a service that runs no worker of ours. */
export function createFaretrailClient({ client, taskQueue = defaultTaskQueue }: FaretrailClientOptions) {
  async function follow(given: FollowOrderInput, { again = false }: FollowOptions = {}): Promise<OrderHandle> {
    const input = parseFollowOrderInput(given);
    await beginFollowing(client, { input, taskQueue, again });
    return orderHandle(client, input);
  }
  return {
    /** Follows an order, once however often it is called: an open run adds what is new in `input`. Starts another run after one that
     *  failed, was cancelled or was terminated. After the end of the order the handle gives the result. */
    follow,
    /**
     * `follow` for many orders, some at once and no faster than `perSecond`. Yields what became of each, in the order of `inputs`, and takes them
     * as its caller goes on. A wrong input is told with its error, and the others go on; any other failure rejects, and all that were yielded
     * are followed.
     */
    followMany(
      inputs: Iterable<FollowOrderInput> | AsyncIterable<FollowOrderInput>,
      { perSecond = 100, atOnce = 16, ...options }: FollowManyOptions = {},
    ): AsyncIterable<FollowedOrder> {
      if (!(perSecond > 0)) throw new InvalidInput('perSecond: must be a number above 0');
      if (!Number.isSafeInteger(atOnce) || atOnce < 1)
        throw new InvalidInput('atOnce: must be a whole number from 1 on');
      const turn = paced(perSecond);
      const followOne = async (given: FollowOrderInput): Promise<FollowedOrder> => {
        await turn();
        try {
          const input = parseFollowOrderInput(given);
          const isNew = await startFirst(client, { input, taskQueue });
          return { order: isNew ? orderHandle(client, input) : await follow(input, options), isNew };
        } catch (error) {
          if (error instanceof InvalidInput) return { error };
          throw error;
        }
      };
      return pMapIterable(inputs, followOne, { concurrency: atOnce });
    },
    /** A handle of an order that is or was followed. Sends no request. */
    get: (account: string, orderId: string): OrderHandle =>
      orderHandle(client, { account: toAccountName(account), orderId: toOrderId(orderId) }),
    /** Requests a ride, once for each `requestId` however often it is called. */
    async request(given: RideInput): Promise<RideHandle> {
      const input = parseRequestRideInput(given);
      await unlessEnded(client.workflow.start<typeof requestRide>('requestRide', rideStart(input, taskQueue)));
      return rideHandle(client, input);
    },
    /** A handle of a ride that is or was requested. Sends no request. */
    getRide: (account: string, requestId: string): RideHandle =>
      rideHandle(client, { account: toAccountName(account), requestId: toCallerKey(requestId, 'requestId') }),
    /** Follows the reports about an order before the first one arrives, so that `notify` receives that one too. Once however often it
     *  is called. */
    async followReports(given: ReportInput): Promise<ReportHandle> {
      const input = parseCompanyReportInput(given);
      const key = { account: input.account, about: toOrderId(given.orderId) };
      await client.workflow.start<typeof companyReport>('companyReport', reportStart(key, input, taskQueue));
      return reportHandle(client, key);
    },
    /** A handle of the reports about an order. Sends no request. */
    getReports: (account: string, orderId: string): ReportHandle =>
      reportHandle(client, { account: toAccountName(account), about: toOrderId(orderId) }),
    /** A handle of a parked delivery. Sends no request. */
    getParked: (account: string, deliveryId: string): ParkedHandle =>
      parkedHandle(client, { account: toAccountName(account), deliveryId: toDeliveryId(deliveryId) }),
    /** One business operation, durably: waits for its answer. The same `key` never makes a second effect. */
    async call(given: CallInput): Promise<CallResult> {
      const input = parseBusinessCallInput(given);
      const start = businessCallStart(input, taskQueue);
      await unlessEnded(client.workflow.start<typeof businessCall>('businessCall', start));
      return await toAnswer(BusinessCallResultSchema, runOf(client, start.workflowId).result());
    },
  };
}

/** Lets calls pass at this rate, each in its turn. */
function paced(perSecond: number): () => Promise<unknown> {
  let next = 0;
  return () => {
    next = Math.max(next + 1_000 / perSecond, monotonicMs());
    return sleep(next - monotonicMs());
  };
}

/** The input of one business operation. */
export type CallInput = Sent<typeof BusinessCallInputSchema>;

/** The answer of one business operation. */
export type CallResult = Sent<typeof BusinessCallResultSchema>;

/** How a service treats payloads. */
export interface PayloadKeysOptions {
  /** False: decrypts, but writes in clear. Default true. */
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
