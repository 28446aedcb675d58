import { randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { inMs, newRide } from '../dev/sandbox/booking-calls.js';
import { isLong } from '../support/long.js';
import { startNotifyReceiver } from '../support/notify/receiver.js';
import { lifeOf, type RideRun, repeatsCreates, requestedRide, standingOf } from '../support/ride/rides.js';
import { pendingOf } from '../support/runs.js';
import { startFleet } from '../support/worker/fleet.js';

type RideOperation = 'createOrder' | 'updateOrder' | 'cancelOrder' | 'orderReceipt';

/** Waits for a condition; while there is no worker, a query may fail. */
const until = (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> =>
  vi.waitFor(async () => expect(await isSo(), `not yet: ${what}`).toBe(true), { timeout: 300_000, interval: 25 });

const activities = 2; // TASK_QUEUE_TYPE_ACTIVITY
const waiting = 1; // PENDING_ACTIVITY_STATE_SCHEDULED

type RideStepScene = Awaited<ReturnType<typeof startRideStepScene>>;

/** One ride that is not requested yet, and a worker in a process of its own. */
async function startRideStepScene() {
  const receiver = await startNotifyReceiver();
  const fleet = await startFleet(1, { env: { ...receiver.env, ...repeatsCreates } });
  fleet.sandbox.setRideSettings({ script: lifeOf(['Pending', 'Reserved'], 300), receiptChangesAfterMs: [] });
  const requestId = randomUUID();
  const ride = { requestId, handle: fleet.client.workflow.getHandle(`ride/business/${requestId}`) as RideRun };
  return {
    fleet,
    receiver,
    ride,
    /** How often the service got this call. */
    count: (operation: RideOperation) => fleet.sandbox.ledger({ operation }).length,
    async close() {
      await fleet.close();
      await receiver.close();
    },
  };
}

/** Long enough between two looks at the receipt that a worker can die there. */
const limits = { firstReceiptMs: 150_000, receiptEveryMs: 3_000, receiptUnchangedMs: 2_000, receiptAtMostMs: 180_000 };

/** What a caller does about the ride, one step after the other; each ends when the service has done it. */
const rideSteps = {
  async ordering({ fleet, ride, receiver }: RideStepScene): Promise<void> {
    const order = newRide({ scheduled_at: inMs(7_200_000) });
    const notify = [{ url: `${receiver.origin}/told` }];
    await requestedRide(fleet.place, { requestId: ride.requestId, order, receipt: true, notify }, { limits });
    await until('Reserved', async () => (await standingOf(ride.handle)).status === 'Reserved');
  },
  async changing({ ride }: RideStepScene): Promise<void> {
    await ride.handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'blue door' } }] });
  },
  async cancelling({ ride }: RideStepScene): Promise<void> {
    await ride.handle.executeUpdate('cancelRide');
  },
} as const;

/** Where a worker dies: between these two steps of a ride. */
interface Gap {
  between: string;
  /** What the caller does when the worker dies. */
  during: keyof typeof rideSteps;
  /** Before that. */
  prepare(scene: RideStepScene): unknown;
  /** After that, until the ride stands in the gap. */
  arrive(scene: RideStepScene): Promise<void>;
  /** After the death. */
  release?(scene: RideStepScene): unknown;
  /** How often the service has got this call by then. */
  made: [RideOperation, number];
}

/** The call was sent, and its answer is on its way. */
const unanswered = (operation: RideOperation, during: Gap['during']): Gap => ({
  ...{ between: `sending ${operation} and its answer`, during, made: [operation, 1] },
  prepare: ({ fleet }) => fleet.sandbox.setFault({ kind: 'slow', operation, delayMs: 4_000, times: 1 }),
  arrive: ({ count }) => until(`${operation} sent`, () => count(operation) >= 1),
});

/** With the rate 0 no more activities leave the queue of the account. */
const limitQueue = ({ fleet: { client, place } }: RideStepScene, rateLimit?: { requestsPerSecond: number }) =>
  client.workflowService.updateTaskQueueConfig({
    ...{ namespace: 'default', identity: 'test', taskQueueType: activities },
    taskQueue: `${place.config.taskQueue}.business`,
    updateQueueRateLimit: { reason: 'test', ...(rateLimit ? { rateLimit } : {}) },
  });

// Temporal notices at once that a worker has died whose call waited, so this gap is in every run of the tests. It misses a worker that died
// in a call only when the time of that call is over, up to a minute and a half later.
const quick: Gap = {
  ...{ between: 'the wish for updateOrder and sending it', during: 'changing', made: ['updateOrder', 0] },
  prepare: (scene) => limitQueue(scene, { requestsPerSecond: 0 }),
  arrive: ({ ride }) =>
    until('attemptCall scheduled', async () =>
      (await pendingOf(ride.handle)).some(({ name, state }) => name === 'attemptCall' && state === waiting),
    ),
  release: (scene) => limitQueue(scene),
};
const slow: Gap[] = [
  unanswered('createOrder', 'ordering'),
  unanswered('updateOrder', 'changing'),
  unanswered('cancelOrder', 'cancelling'),
  unanswered('orderReceipt', 'cancelling'),
  {
    ...{ between: 'telling of the end and knowing that it arrived', during: 'cancelling', made: ['cancelOrder', 1] },
    prepare: ({ receiver }) => receiver.answer('/told', 500, 500, 204),
    arrive: ({ receiver }) => until('told', () => receiver.received.some(({ event }) => event.type === 'order.ended')),
  },
];

/** Does all that a caller does, with the death of the only worker in the gap. */
async function rideThrough(scene: RideStepScene, { during, prepare, arrive, release, made }: Gap): Promise<void> {
  for (const [name, act] of Object.entries(rideSteps)) {
    if (name !== during) {
      await act(scene);
      continue;
    }
    await prepare(scene);
    const done = act(scene);
    done.catch(() => undefined); // awaited below
    await arrive(scene);
    await scene.fleet.workers.splice(0)[0]?.kill();
    const [operation, count] = made;
    expect(scene.count(operation), operation).toBe(count);
    await release?.(scene);
    await scene.fleet.addWorker();
    await done;
  }
}

it.concurrent.each([quick, ...(isLong ? slow : [])].map((gap) => [gap.between, gap] as const))(
  'one order, changed, cancelled and its receipt read when the worker dies between %s',
  { timeout: 600_000 },
  async (_between, gap) => {
    const scene = await startRideStepScene();
    try {
      await rideThrough(scene, gap);
      expect(await scene.ride.handle.result()).toMatchObject({
        outcome: 'cancelled',
        trail: { status: 'Cancelled' },
        receipt: { payment_summary: { total_inc_tax: 6 } },
      });
      expect(scene.fleet.sandbox.createdOrders()).toMatchObject([{ order: { note_to_driver: 'blue door' } }]);
      await until('told of the end', () => scene.receiver.taken('/told').at(-1) === 'Cancelled');
    } finally {
      await scene.close();
    }
  },
);
