// Plays a plan for one order, and collects what the judge needs to know.
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { Delivery } from '../../../../src/domain/delivery.js';
import type { AccountName, DeliveryId, OrderId } from '../../../../src/domain/keys.js';
import type { OrderTrail } from '../../../../src/domain/order/trail.js';
import { followOrderId } from '../../../../src/domain/workflow-ids.js';
import { changeSeenSignal, refreshOrderUpdate, stopFollowingUpdate } from '../../../../src/workflows/messages.js';
import type { Execution } from '../../server/execution.js';
import { createWorld, type World } from '../../world/world.js';
import { resetTo } from '../operator.js';
import { type Asked, addRules, ask, schedulePlan } from '../play.js';
import type { Course, CourseParts } from '../scenario.js';
import type { Deed, OrderPlan } from './plan.js';

type AskedOfOrder = Asked<Deed['kind'], OrderTrail>;

/** A course that has ended. Instants are milliseconds since the epoch. */
export interface OrderCourse extends Course {
  plan: OrderPlan;
  startedAt: number;
  endedAt: number;
  /** The statuses at the service, with their instants. */
  statuses: readonly { status: string; at: number }[];
  asked: readonly AskedOfOrder[];
  /** All runs of the order, oldest first. */
  runs: readonly Execution[];
}

const account = 'business' as AccountName;
const orderId = 'o1' as OrderId;
const workflowId = followOrderId({ account, orderId });
const hour = 3_600_000;
const crowdedMs = 1_000;
const longestMs = 30 * hour;
/** Late deliveries and repeated requests still come after the end of the run. */
const aftermathMs = hour;

export async function runOrderCourse(plan: OrderPlan, parts: CourseParts): Promise<OrderCourse> {
  const world = createWorld(plan.seed, { ...parts, watch: 'model' });
  const { scheduler, namespace } = world;
  const startedAt = scheduler.now;
  const statuses = addOrder(world, plan);
  const taskQueue = parts.config.taskQueue;
  if (plan.isRequested) world.asCaller((client) => void follow(world, client, { taskQueue, plan }));
  const asked: AskedOfOrder[] = [];
  const met = schedulePlan(world, plan, (deed) => act(world, deed, asked));
  const lastsUntil = lastInstant(plan, statuses);
  const isOver = (): boolean =>
    scheduler.now > lastsUntil && world.ingress.waiting === 0 && namespace.openRun(workflowId) === undefined;
  await scheduler.run(longestMs, isOver);
  const endedAt = scheduler.now;
  await scheduler.run(aftermathMs);
  const runs = namespace.runsOf(workflowId);
  addRules(met, world, runs);
  return { plan, world, startedAt, endedAt, statuses, asked, runs, met };
}

function lastInstant({ deeds, disturbances }: OrderPlan, statuses: OrderCourse['statuses']): number {
  const [first] = statuses;
  const offsets = [...deeds, ...disturbances].map(({ atMs }) => atMs);
  return Math.max(...statuses.map(({ at }) => at), ...offsets.map((ms) => (first?.at ?? 0) + ms));
}

/** Starts to follow the order as our clients do. Repeats this while Temporal does not take the request. */
async function follow(world: World, client: Client, { taskQueue, plan }: { taskQueue: string; plan: OrderPlan }) {
  const args = [{ account, orderId }, ...(plan.limits ? [{ limits: plan.limits }] : [])];
  for (let tries = 0; tries < 1_000; tries += 1) {
    try {
      return await client.workflow.start('followOrder', {
        workflowId,
        taskQueue,
        args,
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
    } catch {
      await world.scheduler.pause(5_000);
    }
  }
  return undefined;
}

function addOrder(world: World, { changes, end }: OrderPlan): OrderCourse['statuses'] {
  const { scheduler } = world;
  const statuses = [{ status: 'Pending', at: scheduler.now }];
  let afterMs = 0;
  [...changes, end].forEach((change, index) => {
    afterMs += change.afterMs;
    const { status, sending } = change;
    statuses.push({ status, at: scheduler.now + afterMs });
    for (let copy = 0; copy < sending.times; copy += 1)
      scheduler.after(afterMs + sending.lateMs + copy, () =>
        world.ingress.receive(deliveryOf(world, `d${index}`, status)),
      );
  });
  const script = statuses.map(({ status, at }) => ({ status, afterMs: at - scheduler.now }));
  world.asService(() =>
    world.service.state.orders.add({ interface: 'business', orderId, script }, { isCreated: false }),
  );
  return statuses;
}

const deliveryOf = ({ scheduler }: World, id: string, status: string): Delivery => ({
  account,
  eventType: 'status_changed',
  orderId,
  deliveryId: id as DeliveryId,
  receivedAt: new Date(scheduler.now).toISOString(),
  status,
});

/** Returns false if there is nothing to act on. */
function act(world: World, deed: Deed, asked: AskedOfOrder[]): boolean {
  const run = world.namespace.openRun(workflowId);
  if (!run) return false;
  const quietly = (promise: Promise<unknown>): void => void promise.catch(() => undefined);
  const request = (send: (handle: WorkflowHandle) => Promise<OrderTrail>): void =>
    world.asCaller((client) => ask(world, asked, deed.kind, () => send(client.workflow.getHandle(workflowId))));
  switch (deed.kind) {
    case 'refresh':
      request((handle) => handle.executeUpdate(refreshOrderUpdate));
      return true;
    case 'stop':
      request((handle) => handle.executeUpdate(stopFollowingUpdate, { args: [{ reason: 'enough' }] }));
      for (let left = deed.crowd; left > 0; left -= 1)
        world.scheduler.after(world.scheduler.between(0, crowdedMs), () =>
          world.asCaller((client) =>
            quietly(
              client.workflow.getHandle(workflowId).signal(changeSeenSignal, { streak: null, unchangedAt: null }),
            ),
          ),
        );
      return true;
    case 'inventedDeliveries':
      for (let number = 0; number < deed.count; number += 1)
        world.ingress.receive(deliveryOf(world, `invented${number}`, `Invented ${number}`));
      return true;
    case 'cancel':
      world.asCaller((client) => quietly(client.workflow.getHandle(workflowId).cancel()));
      return true;
    case 'terminate':
      world.asCaller((client) => quietly(client.workflow.getHandle(workflowId).terminate('enough')));
      return true;
    case 'unreadableSignal':
      world.asCaller((client) => quietly(client.workflow.getHandle(workflowId).signal('deliveryReceived', 'garbage')));
      return true;
    case 'reset':
      return resetTo(world, run, deed.which);
  }
}
