// Plays the story of one order, and collects what the judge needs to know.
import type { Client, WorkflowHandle } from '@temporalio/client';
import { createFaretrailClient } from '../../../../src/client/faretrail-client.js';
import type { Delivery } from '../../../../src/domain/delivery.js';
import type { AccountName, DeliveryId, OrderId } from '../../../../src/domain/keys.js';
import type { OrderTrail } from '../../../../src/domain/order/trail.js';
import { followOrderId } from '../../../../src/domain/workflow-ids.js';
import { changeSeenSignal, refreshOrderUpdate, stopFollowingUpdate } from '../../../../src/workflows/messages.js';
import type { Execution } from '../../server/execution.js';
import type { World } from '../../world/world.js';
import { resetTo } from '../operator.js';
import { type Asked, ask, type PlayedOut, persistently, rulesMetBy, scheduleDeeds } from '../play.js';
import { hasRefused, letFail } from '../receiver.js';
import type { Course, Plan } from '../scenario.js';
import type { Deed, OrderPlan, OrderStory } from './plan.js';

type AskedOfOrder = Asked<Deed['kind'], OrderTrail>;

export interface OrderCourse extends Course {
  plan: OrderPlan;
  orderId: OrderId;
  /** The statuses at the service, with their instants. */
  statuses: readonly { status: string; at: number }[];
  /** When Temporal confirmed to a caller that the order is followed; null if no caller asked. */
  requestedAt: number | null;
  asked: readonly AskedOfOrder[];
  /** All runs of the order, oldest first. */
  runs: readonly Execution[];
}

const account = 'business' as AccountName;
const crowdedMs = 1_000;

/** An order whose course has begun. */
export interface BegunOrder {
  /** Is the plan carried out, and the run closed? */
  isOver: () => boolean;
  end: (played: PlayedOut) => OrderCourse;
}

/** A plan with several orders. */
interface OrdersPlan extends Plan {
  orders: readonly (OrderStory & { startsMs: number })[];
}

interface OrderOptions {
  orderId: OrderId;
  taskQueue: string;
  /** The service announces the changes to its subscribers, whatever the plan says of deliveries. */
  isAnnounced?: boolean;
}

/** Schedules everything in the plan except for the disturbances. */
function beginOrder(
  world: World,
  plan: OrderPlan,
  { orderId, taskQueue, isAnnounced = false }: OrderOptions,
): BegunOrder {
  const { scheduler, namespace, ingress } = world;
  const startedAt = scheduler.now;
  const statuses = addOrder(world, plan, { orderId, isAnnounced });
  const workflowId = followOrderId({ account, orderId });
  const receiverFailsUntil = letFail(world, receiverOf(orderId), plan.receiver);
  let requestedAt: number | null = null;
  const noteRequest = (): void => {
    requestedAt = scheduler.now;
  };
  if (plan.isRequested)
    world.asCaller((client) => void follow(world, client, { orderId, taskQueue, plan }).then(noteRequest));
  const asked: AskedOfOrder[] = [];
  const deedsMet = new Set<string>();
  const order = { orderId, taskQueue, asked, mistakes: 0 };
  scheduleDeeds(world, plan.deeds, deedsMet, (deed) => act(world, order, deed));
  const planned = [...statuses.map(({ at }) => at), ...plan.deeds.map(({ atMs }) => startedAt + atMs)];
  const lastsUntil = Math.max(receiverFailsUntil, ...planned);
  return {
    isOver: () =>
      scheduler.now > lastsUntil &&
      order.mistakes === 0 &&
      ingress.waiting === 0 &&
      namespace.openRun(workflowId) === undefined,
    end({ endedAt, met }) {
      const runs = namespace.runsOf(workflowId);
      if (hasRefused(world, receiverOf(orderId))) deedsMet.add('noticeRefused');
      const allMet = new Set([...deedsMet, ...met, ...rulesMetBy(runs)]);
      return { plan, orderId, world, startedAt, endedAt, statuses, requestedAt, asked, runs, met: allMet };
    },
  };
}

/** Begins each order at its time. Returns a list that grows with them. */
export function beginOrders(
  world: World,
  { seed, orders, disturbances }: OrdersPlan,
  options: Omit<OrderOptions, 'orderId'>,
): readonly BegunOrder[] {
  const begun: BegunOrder[] = [];
  for (const [index, { startsMs, ...story }] of orders.entries())
    world.scheduler.after(startsMs, () => {
      const orderId = `o${index + 1}` as OrderId;
      const shifted = disturbances.map((one) => ({ ...one, atMs: one.atMs - startsMs }));
      begun.push(beginOrder(world, { ...story, seed, disturbances: shifted }, { ...options, orderId }));
    });
  return begun;
}

/** The URL of an order's receiver. */
export const receiverOf = (orderId: OrderId): string => `https://receiver.example/${orderId}`;

/** The state of an order that deeds need. */
interface ActedOn extends Pick<Following, 'orderId' | 'taskQueue'> {
  asked: AskedOfOrder[];
  /** Number of mistaken ends that are not corrected yet. */
  mistakes: number;
}

interface Following {
  orderId: OrderId;
  taskQueue: string;
  plan: OrderPlan;
}

/** Starts to follow the order. Our client cannot set limits, so with limits this imitates it. */
function follow(world: World, client: Client, { orderId, taskQueue, plan }: Following): Promise<void> {
  const notify = plan.receiver ? { notify: [{ url: receiverOf(orderId) }] } : {};
  const input = { account, orderId, ...notify };
  if (!plan.limits) return persistently(world, () => createFaretrailClient({ client, taskQueue }).follow(input));
  return persistently(world, () =>
    client.workflow.signalWithStart('followOrder', {
      workflowId: followOrderId({ account, orderId }),
      taskQueue,
      args: [input, { limits: plan.limits }],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      signal: 'followRequested',
      signalArgs: [notify],
    }),
  );
}

async function endByMistake(
  world: World,
  client: Client,
  { orderId, taskQueue }: Pick<Following, 'orderId' | 'taskQueue'>,
  { how, restMs }: Extract<Deed, { kind: 'endedByMistake' }>,
): Promise<void> {
  const run = client.workflow.getHandle(followOrderId({ account, orderId }));
  await persistently(world, () => run[how]());
  await world.scheduler.pause(restMs);
  const { follow: followAgain } = createFaretrailClient({ client, taskQueue });
  await persistently(world, () => followAgain({ account, orderId }, { again: true }));
}

function addOrder(
  world: World,
  { changes, end }: OrderPlan,
  { orderId, isAnnounced }: { orderId: OrderId; isAnnounced: boolean },
): OrderCourse['statuses'] {
  const { scheduler } = world;
  const statuses = [{ status: 'Pending', at: scheduler.now }];
  let afterMs = 0;
  [...changes, end].forEach((change, index) => {
    afterMs += change.afterMs;
    const { status, sending } = change;
    statuses.push({ status, at: scheduler.now + afterMs });
    for (let copy = 0; copy < sending.times && !isAnnounced; copy += 1)
      scheduler.after(afterMs + sending.lateMs + copy, () =>
        world.ingress.receive(deliveryOf(world, orderId, { name: index, status })),
      );
  });
  const script = statuses.map(({ status, at }) => ({ status, afterMs: at - scheduler.now }));
  world.asService(() =>
    world.service.state.orders.add({ interface: 'business', orderId, script }, { isCreated: isAnnounced }),
  );
  return statuses;
}

/** `name`: the number of the change, or the name of an invention. */
const deliveryId = (orderId: OrderId, name: number | string): DeliveryId => `${orderId}-${name}` as DeliveryId;

/** The number of the change that a delivery announces; NaN for an invention. */
export const announcedBy = (id: string): number => Number(id.split('-').at(-1));

const deliveryOf = (
  { scheduler }: World,
  orderId: OrderId,
  { name, status }: { name: number | string; status: string },
): Delivery => ({
  account,
  eventType: 'status_changed',
  orderId,
  deliveryId: deliveryId(orderId, name),
  receivedAt: new Date(scheduler.now).toISOString(),
  status,
});

/** Returns false if there is nothing to act on. */
function act(world: World, order: ActedOn, deed: Deed): boolean {
  const { orderId, asked } = order;
  const workflowId = followOrderId({ account, orderId });
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
        world.scheduler.after(number * deed.everyMs, () =>
          world.ingress.receive(
            deliveryOf(world, orderId, { name: `invented${number}`, status: `Invented ${number}` }),
          ),
        );
      return true;
    case 'endedByMistake': {
      const end = (): void => {
        order.mistakes -= 1;
      };
      order.mistakes += 1;
      world.asCaller((client) => void endByMistake(world, client, order, deed).then(end));
      return true;
    }
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
      return resetTo(world, run, deed);
  }
}
