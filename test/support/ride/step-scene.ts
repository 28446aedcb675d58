import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { inMs, newRide } from '../../sandbox/booking-calls.js';
import { type NotifyReceiver, startNotifyReceiver } from '../notify/receiver.js';
import { type Fleet, startFleet } from '../worker/fleet.js';
import { lifeOf, type RideRun, requestedRide, standingOf } from './rides.js';
import type { RideOperation } from './with-fault.js';

/** One ride, a worker in a process of its own, and the means to hold the ride at a step. */
export interface RideStepScene {
  fleet: Fleet;
  receiver: NotifyReceiver;
  ride: { handle: RideRun; requestId: string };
  /** The next answer to it takes this long. */
  slow(operation: RideOperation, delayMs?: number): void;
  /** Waits until it was sent so many times in all. */
  sent(operation: RideOperation, times?: number): Promise<void>;
  count(operation: RideOperation): number;
  /** No more activities leave these queues until `release`: that of the account, or the one for all else. */
  hold(queue: 'account' | 'main'): Promise<void>;
  /** Waits until this activity is scheduled or under way, of the ride or of the run that follows its order. */
  scheduled(activity: string, options?: { attempt?: number; ofOrder?: boolean; isUnderWay?: boolean }): Promise<void>;
  release(): Promise<void>;
  /** kill -9, and then another worker in its place. */
  kill(): Promise<void>;
  revive(): Promise<void>;
  close(): Promise<void>;
}

const patienceMs = 150_000;

/** Waits for a condition; while there is no worker, asking may fail. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const askOnce = async () => await isSo();
  for (const end = Date.now() + patienceMs; !(await askOnce().catch(() => false)); await sleep(25)) {
    if (Date.now() > end) throw new Error(`in vain: ${what}`);
  }
}

const activities = 2; // TASK_QUEUE_TYPE_ACTIVITY
const waiting = 1; // PENDING_ACTIVITY_STATE_SCHEDULED
const running = 2; // PENDING_ACTIVITY_STATE_STARTED

/** Starts it with an order that waits for its time; nothing is asked of the service yet. */
export async function startRideStepScene(): Promise<RideStepScene> {
  const receiver = await startNotifyReceiver();
  const fleet = await startFleet(1, { env: receiver.env });
  const { sandbox, client, env } = fleet;
  sandbox.setBookingSettings({ script: lifeOf(['Pending', 'Reserved'], 300), receiptChangesAfterMs: null });
  const queues = { main: env.FARETRAIL_TASK_QUEUE ?? '', account: `${env.FARETRAIL_TASK_QUEUE}.business` };
  const requestId = randomUUID();
  const ride = { requestId, handle: client.workflow.getHandle(`ride/business/${requestId}`) as RideRun };
  const count = (operation: RideOperation) => sandbox.ledger({ operation }).length;
  const limit = (taskQueue: string, rateLimit?: { requestsPerSecond: number }) =>
    client.workflowService.updateTaskQueueConfig({
      namespace: 'default',
      identity: 'test',
      taskQueue,
      taskQueueType: activities,
      updateQueueRateLimit: { reason: 'test', ...(rateLimit ? { rateLimit } : {}) },
    });
  const held = new Set<string>();
  return {
    fleet,
    receiver,
    ride,
    count,
    slow: (operation, delayMs = 4_000) => void sandbox.setFault({ kind: 'slow', operation, delayMs, times: 1 }),
    sent: (operation, times = 1) => until(`${operation} sent`, () => count(operation) >= times),
    async hold(queue) {
      held.add(queues[queue]);
      await limit(queues[queue], { requestsPerSecond: 0 });
    },
    async scheduled(activity, { attempt = 1, ofOrder = false, isUnderWay = false } = {}) {
      const state = isUnderWay ? running : waiting;
      await until(`${activity} scheduled`, async () => {
        const [made] = sandbox.createdOrders();
        const run = ofOrder ? client.workflow.getHandle(`order/business/${made?.orderId}`) : ride.handle;
        const { pendingActivities } = (await run.describe()).raw;
        return (pendingActivities ?? []).some(
          (pending) =>
            pending.activityType?.name === activity && pending.state === state && (pending.attempt ?? 0) >= attempt,
        );
      });
    },
    async release() {
      for (const queue of held) await limit(queue);
      held.clear();
    },
    async kill() {
      await fleet.workers.splice(0)[0]?.kill();
    },
    revive: () => fleet.addWorker().then(() => undefined),
    async close() {
      await fleet.close();
      await receiver.close();
    },
  };
}

/** Long enough between two looks at the receipt that a worker can die there. */
const limits = { firstReceiptMs: 150_000, receiptEveryMs: 3_000, receiptUnchangedMs: 2_000, receiptAtMostMs: 180_000 };

/** What a caller does about the ride, one after the other; each ends when it has been done. */
export const rideSteps = {
  async ordering({ fleet, ride, receiver }: RideStepScene): Promise<void> {
    await requestedRide(
      { client: fleet.client, config: { taskQueue: fleet.env.FARETRAIL_TASK_QUEUE ?? '' } } as never,
      {
        requestId: ride.requestId,
        order: newRide({ scheduled_at: inMs(7_200_000) }),
        receipt: true,
        notify: [{ url: `${receiver.origin}/told` }],
      },
      { limits },
    );
    await until('Reserved', async () => (await standingOf(ride.handle)).status === 'Reserved');
  },
  async changing({ ride }: RideStepScene): Promise<void> {
    await ride.handle.executeUpdate('updateRide', { args: [{ order: { note_to_driver: 'blue door' } }] });
  },
  async cancelling({ ride }: RideStepScene): Promise<void> {
    await ride.handle.executeUpdate('cancelRide');
  },
} as const;
