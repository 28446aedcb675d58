// Plays a plan for the subscriptions of an account, and collects what the judge needs to know.
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { AccountName, OrderId } from '../../../../src/domain/keys.js';
import type { ParkedDelivery, RoutedDelivery } from '../../../../src/domain/parked.js';
import type { SubscriptionEnd, SubscriptionStatus } from '../../../../src/domain/subscription/status.js';
import type { EventType } from '../../../../src/domain/subscription/subscription.js';
import { subscriptionId } from '../../../../src/domain/workflow-ids.js';
import {
  discardDeliveryUpdate,
  endSubscriptionUpdate,
  moveSubscriptionUpdate,
  rotateSubscriptionUpdate,
  routeDeliveryUpdate,
} from '../../../../src/workflows/messages.js';
import { DeliveryRequestSchema } from '../../../sandbox/delivery/requests.js';
import { createDeliveryWriter } from '../../../sandbox/delivery/writer.js';
import type { SandboxOptions } from '../../../sandbox/sandbox-state.js';
import { Process } from '../../clock/process.js';
import type { Execution } from '../../server/execution.js';
import { withManaging } from '../../world/settings.js';
import { createWorld, type World } from '../../world/world.js';
import { lastsMs } from '../disturbances.js';
import { minute } from '../draws.js';
import { resetTo } from '../operator.js';
import { beginOrders, type OrderCourse } from '../order/course.js';
import { type Asked, ask, persistently, playOut, rulesMetBy, scheduleDeeds } from '../play.js';
import type { Course, CourseParts } from '../scenario.js';
import type { Deed, SubscriptionPlan } from './plan.js';

/** The answer of an update; its form depends on the update. */
type Answer = SubscriptionStatus | SubscriptionEnd | ParkedDelivery | RoutedDelivery;

export type AskedOfSubscription = Asked<Deed['kind'], Answer>;

/** A subscription that was played. */
export interface PlayedSubscription {
  eventType: EventType;
  /** Oldest first. */
  runs: readonly Execution[];
}

export interface SubscriptionCourse extends Course {
  plan: SubscriptionPlan;
  orders: readonly OrderCourse[];
  subscriptions: readonly PlayedSubscription[];
  asked: readonly AskedOfSubscription[];
  parked: readonly Execution[];
}

export const account = 'business' as AccountName;
const publicUrl = 'https://rides.example';
/** After this time without trouble, nothing that the trouble caused may be left. */
const calmMs = 60 * minute;

export async function runSubscriptionCourse(plan: SubscriptionPlan, parts: CourseParts): Promise<SubscriptionCourse> {
  const { taskQueue } = parts.config;
  const config = plan.isManaged ? withManaging(parts.config) : parts.config;
  const world = createWorld(plan.seed, { ...parts, config, watch: 'model', sandbox: sandboxOf(plan) });
  const { scheduler, namespace } = world;
  const startedAt = scheduler.now;
  const eventTypes: EventType[] = plan.hasReports ? ['status_changed', 'business_report'] : ['status_changed'];
  world.asCaller((client) => {
    for (const eventType of eventTypes) void persistently(world, () => subscribe(client, eventType, taskQueue));
  });
  const begun = beginOrders(world, plan, { taskQueue, isAnnounced: true });
  const asked: AskedOfSubscription[] = [];
  const met = new Set<string>();
  const stranger = new Process('stranger', scheduler);
  scheduleDeeds(world, plan.deeds, met, (deed) => act({ world, asked, stranger }, deed));
  const troubleMs = [
    ...plan.deeds.map((deed) => deed.atMs + (deed.kind === 'forgedDeliveries' ? deed.count * deed.everyMs : 0)),
    ...plan.disturbances.map((one) => one.atMs + lastsMs(one)),
  ];
  const calmFromMs = startedAt + Math.max(0, ...troubleMs);
  const isOver = (): boolean =>
    scheduler.now > calmFromMs + calmMs &&
    begun.length === plan.orders.length &&
    begun.every((order) => order.isOver());
  const played = await playOut(world, plan.disturbances, isOver);
  const orders = begun.map((order) => order.end(played));
  const subscriptions = eventTypes.map((eventType) => ({
    eventType,
    runs: namespace.runsOf(subscriptionId({ account, eventType })),
  }));
  const parked = namespace.all().filter(({ type }) => type === 'parkedDelivery');
  const runs = [...subscriptions.flatMap((one) => one.runs), ...parked];
  const allMet = new Set([...met, ...played.met, ...rulesMetBy(runs), ...kindsOf(world)]);
  return { plan, world, startedAt, endedAt: played.endedAt, orders, subscriptions, asked, parked, met: allMet };
}

const sandboxOf = ({ seed, sending }: SubscriptionPlan): SandboxOptions => ({
  seed,
  deliveries: sending,
  rides: { receiptChangesAfterMs: [10 * minute] },
});

function subscribe({ workflow }: Client, eventType: EventType, taskQueue: string): Promise<WorkflowHandle> {
  const workflowId = subscriptionId({ account, eventType });
  return workflow.start('subscription', { workflowId, taskQueue, args: [{ account, eventType, publicUrl }] });
}

/** The sender and outcome of each delivery, such as `service: accepted`. */
const kindsOf = ({ deliveries }: World): string[] =>
  deliveries.answered.map(({ from, outcome }) => `${from}: ${outcome}`);

interface Acting {
  world: World;
  asked: AskedOfSubscription[];
  stranger: Process;
}

const workflowId = subscriptionId({ account, eventType: 'status_changed' });

/** Each returns false if there is nothing to act on. */
const acts: { [Kind in Deed['kind']]: (acting: Acting, deed: Extract<Deed, { kind: Kind }>) => boolean } = {
  rotate: (acting, { kind, graceMs }) =>
    askRun(acting, kind, (run) => run.executeUpdate(rotateSubscriptionUpdate, { args: [graceOf(graceMs)] })),
  move: (acting, { kind, graceMs }) => {
    const to = { publicUrl: 'https://elsewhere.example', ...graceOf(graceMs) };
    return askRun(acting, kind, (run) => run.executeUpdate(moveSubscriptionUpdate, { args: [to] }));
  },
  end: (acting, { kind }) =>
    askRun(acting, kind, (run) => run.executeUpdate(endSubscriptionUpdate, { args: [{ reason: 'enough' }] })),
  route: (acting, { kind }) =>
    knowsOrder(acting.world) &&
    askParked(acting, kind, (run) => run.executeUpdate(routeDeliveryUpdate, { args: [{ orderId: firstOrder }] })),
  discard: (acting, { kind }) =>
    askParked(acting, kind, (run) => run.executeUpdate(discardDeliveryUpdate, { args: [{ reason: 'unknown' }] })),
  cancel: ({ world }) => ofRun(world, (run) => run.cancel()),
  terminate: ({ world }) => ofRun(world, (run) => run.terminate('enough')),
  reset({ world }, deed) {
    const open = world.namespace.openRun(workflowId);
    return open !== undefined && resetTo(world, open, deed);
  },
  forgedDeliveries: ({ world, stranger }, deed) => forge(world, stranger, deed),
  namelessDelivery({ world }) {
    const { deliveries, subscribers } = world.service.state;
    const request = DeliveryRequestSchema.parse({ statuses: ['Routing'] });
    if (subscribers.of(request.eventType).length === 0) return false;
    world.asService(() => void deliveries.deliver(request));
    return true;
  },
};

const act = (acting: Acting, deed: Deed): boolean =>
  (acts[deed.kind] as (acting: Acting, deed: Deed) => boolean)(acting, deed);

const firstOrder = 'o1' as OrderId;
const knowsOrder = ({ service }: World): boolean => service.statusOf(account, firstOrder) !== undefined;

const graceOf = (graceMs: number | null) => (graceMs === null ? {} : { graceMs });

type Send = (run: WorkflowHandle) => Promise<Answer>;

function askRun({ world, asked }: Acting, kind: Deed['kind'], send: Send): boolean {
  if (!world.namespace.openRun(workflowId)) return false;
  world.asCaller(({ workflow }) => ask(world, asked, kind, () => send(workflow.getHandle(workflowId))));
  return true;
}

function askParked({ world, asked }: Acting, kind: Deed['kind'], send: Send): boolean {
  const waiting = world.namespace.all().find(({ type, isOpen }) => type === 'parkedDelivery' && isOpen);
  if (!waiting) return false;
  world.asCaller(({ workflow }) => ask(world, asked, kind, () => send(workflow.getHandle(waiting.workflowId))));
  return true;
}

function ofRun(world: World, send: (run: WorkflowHandle) => Promise<unknown>): boolean {
  if (!world.namespace.openRun(workflowId)) return false;
  world.asCaller(({ workflow }) => void send(workflow.getHandle(workflowId)).catch(() => undefined));
  return true;
}

/** The stranger knows the newest address, but not its secret. */
function forge(
  world: World,
  stranger: Process,
  { how, count, everyMs }: Extract<Deed, { kind: 'forgedDeliveries' }>,
): boolean {
  const { scheduler, service, deliveries } = world;
  const { state } = service;
  const subscriber = state.subscribers.of('status_changed').at(-1);
  if (!subscriber) return false;
  const writer = createDeliveryWriter({ settings: state.deliveries.settings, productOf: () => 'standard' });
  for (let number = 0; number < count; number += 1)
    scheduler.after(number * everyMs, () =>
      stranger.go(() => {
        const orderId = knowsOrder(world) ? firstOrder : 'invented';
        const told = writer.number({ eventType: 'status_changed', orderId, status: `Forged ${number}` });
        const { message } = writer.write(subscriber, told, { flaw: how });
        void deliveries.send(stranger, message, { from: 'stranger', timeoutMs: minute });
      }),
    );
  return true;
}
