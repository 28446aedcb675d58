// Plays a plan for calls, and collects what the judge needs to know.
import type { AccountName, OrderId } from '../../../../src/domain/keys.js';
import { businessCallStart } from '../../../../src/temporal/starts.js';
import { NewOrderSchema } from '../../../sandbox/ride/body.js';
import type { Execution } from '../../server/execution.js';
import { createWorld, type World } from '../../world/world.js';
import { resetTo } from '../operator.js';
import { persistently, playOut, rulesMetBy, scheduleDeeds } from '../play.js';
import { rideBody } from '../ride-body.js';
import type { Course, CourseParts } from '../scenario.js';
import type { CallPlan, PlannedCall } from './plan.js';

/** A call that was started. */
export interface PlayedCall extends PlannedCall {
  workflowId: string;
  /** The order that it changes or cancels. */
  orderId: OrderId | null;
  /** Oldest first. */
  runs: readonly Execution[];
  met: ReadonlySet<string>;
}

export interface CallCourse extends Course {
  plan: CallPlan;
  calls: readonly PlayedCall[];
}

export const account = 'business' as AccountName;
export const change = { note_to_driver: 'Ring twice' };

export async function runCallCourse(plan: CallPlan, parts: CourseParts): Promise<CallCourse> {
  const world = createWorld(plan.seed, { ...parts, watch: 'model' });
  const { scheduler, namespace } = world;
  const startedAt = scheduler.now;
  const begun = plan.calls.map((call, index) => begin(world, parts.config.taskQueue, { call, key: `k${index + 1}` }));
  const isOver = (): boolean => begun.every(({ workflowId }) => namespace.newest(workflowId)?.isOpen === false);
  const lastMs = Math.max(
    ...plan.calls.map(({ startsMs, deeds }) => startsMs + Math.max(0, ...deeds.map(({ atMs }) => atMs))),
  );
  const isAllOver = (): boolean => scheduler.now > startedAt + lastMs && isOver();
  const { endedAt, met } = await playOut(world, plan.disturbances, isAllOver);
  const calls = begun.map((one) => ({ ...one, runs: namespace.runsOf(one.workflowId) }));
  const runs = calls.flatMap((call) => call.runs);
  const allMet = new Set([...met, ...rulesMetBy(runs), ...calls.flatMap((call) => [...call.met])]);
  return { plan, world, startedAt, endedAt, calls, met: allMet };
}

/** Schedules the start of the call and the actions of operators. */
function begin(
  world: World,
  taskQueue: string,
  { call, key }: { call: PlannedCall; key: string },
): Omit<PlayedCall, 'runs'> {
  const { operation, startsMs, deeds } = call;
  const orderId = operation === 'updateOrder' || operation === 'cancelOrder' ? addOrder(world) : null;
  const body = { createOrder: rideBody, updateOrder: change, cancelOrder: undefined, companySettings: undefined };
  const about = orderId === null ? {} : { orderId };
  const input = { account, operation, key, body: body[operation], ...about };
  const start = businessCallStart(input, taskQueue);
  const met = new Set<string>();
  world.scheduler.after(startsMs, () => {
    world.asCaller(({ workflow }) => void persistently(world, () => workflow.start('businessCall', start)));
    scheduleDeeds(world, deeds, met, (deed) => act(world, start.workflowId, deed));
  });
  return { ...call, workflowId: start.workflowId, orderId, met };
}

/** Adds an order that can be changed at any time. */
function addOrder({ service, asService }: World): OrderId {
  const { rides, rideSettings } = service.state;
  const script = [{ status: 'Reserved', afterMs: 0 }];
  const order = NewOrderSchema.parse(rideBody);
  return asService(() => rides.add(order, Buffer.alloc(0), undefined, { ...rideSettings, script })).orderId as OrderId;
}

/** Returns false if there is nothing to act on. */
function act(world: World, workflowId: string, deed: PlannedCall['deeds'][number]): boolean {
  const open = world.namespace.openRun(workflowId);
  if (!open) return false;
  if (deed.kind === 'reset') return resetTo(world, open, deed);
  const { kind } = deed;
  world.asCaller((client) => {
    const run = client.workflow.getHandle(workflowId);
    void run[kind]().catch(() => undefined);
  });
  return true;
}
