import { randomUUID } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { inMs, newRide } from '../dev/sandbox/booking-calls.js';
import { isLong } from '../support/long.js';
import { startNotifyReceiver } from '../support/notify/receiver.js';
import { lifeOf, type RideRun, repeatsCreates, requestedRide, standingOf } from '../support/ride/rides.js';
import { pendingOf } from '../support/runs.js';
import { startFleet } from '../support/worker/fleet.js';

type RideOperation = 'businessToken' | 'createOrder' | 'orderDetails' | 'updateOrder' | 'cancelOrder' | 'orderReceipt';

/** Waits for a condition; while there is no worker, a query may fail. */
const until = (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> =>
  vi.waitFor(async () => expect(await isSo(), `not yet: ${what}`).toBe(true), { timeout: 150_000, interval: 25 });

const activities = 2; // TASK_QUEUE_TYPE_ACTIVITY
const waiting = 1; // PENDING_ACTIVITY_STATE_SCHEDULED

type RideStepScene = Awaited<ReturnType<typeof startRideStepScene>>;
type Queue = 'account' | 'main';

/** One ride that is not requested yet, a worker in a process of its own, and the means to hold the ride at a step. */
async function startRideStepScene() {
  const receiver = await startNotifyReceiver();
  const fleet = await startFleet(1, { env: { ...receiver.env, ...repeatsCreates } });
  const { sandbox, client, env } = fleet;
  sandbox.setRideSettings({ script: lifeOf(['Pending', 'Reserved'], 300), receiptChangesAfterMs: null });
  const queues = { main: env.FARETRAIL_TASK_QUEUE ?? '', account: `${env.FARETRAIL_TASK_QUEUE}.business` };
  const requestId = randomUUID();
  const ride = { requestId, handle: client.workflow.getHandle(`ride/business/${requestId}`) as RideRun };
  const count = (operation: RideOperation) => sandbox.ledger({ operation }).length;
  const limit = (taskQueue: string, rateLimit?: { requestsPerSecond: number }) =>
    client.workflowService.updateTaskQueueConfig({
      ...{ namespace: 'default', identity: 'test', taskQueue, taskQueueType: activities },
      updateQueueRateLimit: { reason: 'test', ...(rateLimit ? { rateLimit } : {}) },
    });
  return {
    fleet,
    receiver,
    ride,
    count,
    /** The next answer to it takes this long. */
    slow: (operation: RideOperation, delayMs = 4_000) =>
      void sandbox.setFault({ kind: 'slow', operation, delayMs, times: 1 }),
    /** Waits until the service got it once. */
    sent: (operation: RideOperation) => until(`${operation} sent`, () => count(operation) >= 1),
    /** No more activities leave this queue until `release`: that of the account, or the one for all else. */
    hold: (queue: Queue) => limit(queues[queue], { requestsPerSecond: 0 }),
    release: () => Promise.all(Object.values(queues).map((queue) => limit(queue))),
    /** Waits until this activity is scheduled, of the ride or of the run that follows its order. */
    async scheduled(activity: string, { ofOrder = false } = {}) {
      await until(`${activity} scheduled`, async () => {
        const [made] = sandbox.createdOrders();
        const run = ofOrder ? client.workflow.getHandle(`order/business/${made?.orderId}`) : ride.handle;
        const pending = await pendingOf(run);
        return pending.some((one) => one.name === activity && one.state === waiting);
      });
    },
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

/** How a ride gets to where the worker dies. */
interface Way {
  /** Before the caller does something. */
  prepare?(scene: RideStepScene): unknown;
  /** After that, until the ride stands in the gap. */
  arrive(scene: RideStepScene): Promise<void>;
}
/** Where a worker dies: between these two steps of a ride. */
interface Gap extends Way {
  between: string;
  /** What the caller does when the worker dies. */
  during: keyof typeof rideSteps;
  /** The calls that were made by then: no more and no fewer. */
  made: Partial<Record<RideOperation, number>>;
}

/** The activity waits on a queue that gives nothing out. */
const held = (queue: Queue, activity: string): Way => ({
  prepare: (scene) => scene.hold(queue),
  arrive: (scene) => scene.scheduled(activity),
});
/** The call was sent, and its answer is on its way. */
const unanswered = (operation: RideOperation): Way => ({
  prepare: (scene) => scene.slow(operation),
  arrive: (scene) => scene.sent(operation),
});
/** The call was answered, and this activity that follows from it waits. */
const answered = (operation: RideOperation, queue: Queue, ...next: Parameters<RideStepScene['scheduled']>): Way => ({
  prepare: (scene) => scene.slow(operation, 1_500),
  async arrive(scene) {
    await scene.sent(operation);
    await scene.hold(queue);
    await scene.scheduled(...next);
  },
});
const ofOrder = true;
const hasToken = { businessToken: 1, createOrder: 0 };
const unread = { createOrder: 1, orderDetails: 0 };
const orderings: [between: string, way: Way, made: Gap['made']][] = [
  ['the wish for a ride and asking for a token', held('account', 'attemptCall'), { businessToken: 0, createOrder: 0 }],
  ['asking for a token and having it', unanswered('businessToken'), hasToken],
  ['having a token and sending the create', answered('businessToken', 'account', 'attemptCall'), hasToken],
  ['sending the create and its answer', unanswered('createOrder'), unread],
  ['the answer to the create and following', answered('createOrder', 'main', 'startFollowing'), unread],
  ['following and the first read', answered('createOrder', 'account', 'readOrder', { ofOrder }), unread],
  ['the first read and its answer', unanswered('orderDetails'), { createOrder: 1, orderDetails: 1 }],
];
const ordering = orderings.map(([between, way, made]): Gap => ({ between, during: 'ordering', ...way, made }));

/** The same three gaps of both changes. */
function changing(during: Gap['during'], operation: RideOperation): Gap[] {
  const after = answered(operation, 'account', 'readOrder', { ofOrder });
  const prepare = (scene: RideStepScene): void => {
    after.prepare?.(scene);
    scene.fleet.sandbox.setRideSettings({ cancelTakesMs: 5_000 }); // or a poll would see it first
  };
  const made = (count: number) => ({ createOrder: 1, [operation]: count });
  return [
    { between: `the wish for ${operation} and sending it`, during, ...held('account', 'attemptCall'), made: made(0) },
    { between: `sending ${operation} and its answer`, during, ...unanswered(operation), made: made(1) },
    { between: `the answer to ${operation} and seeing its effect`, during, ...after, prepare, made: made(1) },
  ];
}

const endings: Omit<Gap, 'during'>[] = [
  {
    between: 'asking for the receipt and having it',
    ...unanswered('orderReceipt'),
    made: { cancelOrder: 1, orderReceipt: 1 },
  },
  {
    between: 'telling of the end and knowing that it arrived',
    prepare: ({ receiver }) => receiver.answer('/told', 500, 500, 204),
    arrive: ({ receiver }) => until('told', () => receiver.received.some(({ event }) => event.type === 'order.ended')),
    made: { cancelOrder: 1 },
  },
];

const gaps = [
  ...ordering,
  ...changing('changing', 'updateOrder'),
  ...changing('cancelling', 'cancelOrder'),
  ...endings.map((gap): Gap => ({ during: 'cancelling', ...gap })),
];

/** Does all that a caller does, with the death of the only worker in the gap. */
async function rideThrough(scene: RideStepScene, { during, prepare, arrive, made }: Gap): Promise<void> {
  for (const [name, act] of Object.entries(rideSteps)) {
    if (name !== during) {
      await act(scene);
      continue;
    }
    await prepare?.(scene);
    const done = act(scene);
    done.catch(() => undefined); // awaited below
    await arrive(scene);
    await scene.fleet.workers.splice(0)[0]?.kill();
    const operations = Object.keys(made) as RideOperation[];
    expect(Object.fromEntries(operations.map((operation) => [operation, scene.count(operation)]))).toEqual(made);
    await scene.release();
    await scene.fleet.addWorker();
    await done;
  }
}

// A worker that dies in a call is noticed only when the time of that call is over, so most take up to a minute and a half.
// A worker that dies while its call waits is noticed at once: one such gap is in every run of the tests.
const quick = 'the wish for updateOrder and sending it';
const chosen = gaps.filter(({ between }) => isLong || between === quick);
it.concurrent.each(chosen.map((gap) => [gap.between, gap] as const))(
  'one order, changed, cancelled and its receipt read when the worker dies between %s',
  { timeout: 280_000 },
  async (_between, gap) => {
    const scene = await startRideStepScene();
    try {
      await rideThrough(scene, gap);
      expect(await scene.ride.handle.result()).toMatchObject({
        outcome: 'cancelled',
        trail: { status: 'Cancelled' },
        receipt: { payment_summary: { total_inc_tax: '5.50' } },
      });
      expect(scene.fleet.sandbox.createdOrders()).toMatchObject([{ order: { note_to_driver: 'blue door' } }]);
      await until('told of the end', () => scene.receiver.taken('/told').at(-1) === 'Cancelled');
    } finally {
      await scene.close();
    }
  },
);
