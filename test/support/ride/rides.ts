import { randomUUID } from 'node:crypto';
import type {
  WorkflowFailedError,
  WorkflowHandleWithFirstExecutionRunId,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterEach, expect, vi } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import type { RequestRideInput, RideResolution } from '../../../src/domain/ride/input.js';
import type { RideStanding } from '../../../src/domain/ride/ride.js';
import { rideStart } from '../../../src/temporal/starts.js';
import type { RequestRideProgress, requestRide } from '../../../src/workflows/ride/request-ride.js';
import { newRide } from '../../dev/sandbox/booking-calls.js';
import { jsonFile } from '../json-file.js';
import { type OrderStack, type Place, useOrderStack } from '../order/stack.js';
import { patient } from '../patience.js';

export const account = toAccountName('business');
export type RideRun = WorkflowHandleWithFirstExecutionRunId<typeof requestRide>;

/** The script of a ride with so many milliseconds from one status to the next. */
export const lifeOf = (statuses: string[], stepMs = 300) =>
  statuses.map((status, i) => ({ status, afterMs: i * stepMs }));
export const completes = lifeOf(['Pending', 'Confirmed', 'Driving', 'Completed']);
export const goesOn = lifeOf(['Pending', 'Routing']);

/** Short enough for a test. */
export const shortLimits = {
  firstReceiptMs: 8_000,
  receiptEveryMs: 500,
  receiptUnchangedMs: 1_500,
  receiptAtMostMs: 20_000,
};

/** The sandbox makes one order of all creates with the same id, and the workers know that. */
export const repeatsCreates = {
  FARETRAIL_CONTRACT_FILE: jsonFile({ operations: { createOrder: { repeatable: true } } }),
};

/** A stack that each test finds without faults, and with bookings as they usually are. */
export function useRideStack(): OrderStack {
  const stack = useOrderStack({ env: repeatsCreates });
  afterEach(() => {
    stack.sandbox.clearFaults();
    stack.sandbox.setRideSettings({
      script: null,
      cancelTakesMs: 0,
      receiptAfterMs: 0,
      receiptChangesAfterMs: [],
    });
  });
  return stack;
}

/** Starts a ride as a caller does, with limits that a test can wait for. */
export async function requestedRide(
  { client, config }: Place,
  more: Partial<RequestRideInput> = {},
  progress: RequestRideProgress = { limits: shortLimits },
): Promise<RequestRideInput & { handle: RideRun }> {
  const input: RequestRideInput = { account, requestId: randomUUID(), order: newRide(), ...more };
  const { args, ...options } = rideStart(input, config.taskQueue);
  const start = { ...options, args: [...args, progress] as [RequestRideInput, RequestRideProgress] };
  return { handle: await client.workflow.start<typeof requestRide>('requestRide', start), ...input };
}

export const standingOf = (handle: RideRun): Promise<RideStanding> => handle.query('rideStatus');

export const stands = (handle: RideRun, standing: Partial<RideStanding> | object) =>
  vi.waitFor(async () => expect(await standingOf(handle)).toMatchObject(standing), patient);

/** A ride that is followed, with an order that goes on until the test ends it. */
export async function rideUnderWay(
  stack: OrderStack,
  more: Partial<RequestRideInput> = {},
  { script = goesOn, ...limits }: Partial<RequestRideProgress['limits']> & { script?: typeof goesOn } = {},
) {
  stack.sandbox.setRideSettings({ script });
  const ride = await requestedRide(stack, more, { limits: { ...shortLimits, ...limits } });
  await stands(ride.handle, { stage: 'following', status: script.at(-1)?.status });
  return ride;
}

/** A ride of which the service loses the answer to the create: the run cannot know whether there is an order. There is. */
export async function doubtfulRide(
  stack: OrderStack,
  more: Partial<RequestRideInput> = {},
  progress?: RequestRideProgress,
) {
  stack.sandbox.setRideSettings({ script: goesOn, receiptChangesAfterMs: [] });
  stack.sandbox.setFault({ kind: 'dropConnection', operation: 'createOrder', when: 'answer', times: 1 });
  const ride = await requestedRide(stack, more, progress);
  const { handle, requestId } = ride;
  await stands(handle, { stage: 'requesting', orderId: null, attention: { code: 'outcomeUnknown' } });
  return {
    ...ride,
    orderId: ordersOf(stack, requestId)[0]?.orderId ?? expect.fail('no order'),
    resolve: (how: RideResolution | object) => handle.executeUpdate('resolveRide', { args: [how as RideResolution] }),
    async cancelled() {
      await handle.executeUpdate('cancelRide');
      return await handle.result();
    },
  };
}

const idOf = (requestId: string): string => `ride.${account}.${requestId}`;

/** The orders that the create of this ride made. */
export const ordersOf = ({ sandbox }: Pick<OrderStack, 'sandbox'>, requestId: string) =>
  sandbox.createdOrders().filter((order) => order.requestId === idOf(requestId));

/** The creates that the service got for this ride. */
export const createsOf = ({ sandbox }: Pick<OrderStack, 'sandbox'>, requestId: string) =>
  sandbox.ledger({ operation: 'createOrder' }).filter((call) => call.requestId === idOf(requestId));

/** The failure of a run or of an update. */
export async function failureOf(act: Promise<unknown>): Promise<ApplicationFailure> {
  const error = await act.then(
    () => expect.fail('it did not fail'),
    (thrown: unknown) => thrown as WorkflowFailedError | WorkflowUpdateFailedError,
  );
  expect(error.cause, String(error)).toBeInstanceOf(ApplicationFailure);
  return error.cause as ApplicationFailure;
}
