// Plays a plan for one ride, and collects what the judge needs to know.
import type { Client, WorkflowHandle } from '@temporalio/client';
import type { Delivery } from '../../../../src/domain/delivery.js';
import type { AccountName, DeliveryId, OrderId } from '../../../../src/domain/keys.js';
import { endStatuses, toKnownStatus } from '../../../../src/domain/order/status.js';
import type { RideStanding } from '../../../../src/domain/ride/ride.js';
import { requestRideId } from '../../../../src/domain/workflow-ids.js';
import {
  cancelRideUpdate,
  resolveRideUpdate,
  rideStatusQuery,
  updateRideUpdate,
} from '../../../../src/workflows/messages.js';
import type { Execution } from '../../server/execution.js';
import { createWorld, type World } from '../../world/world.js';
import { resetTo } from '../operator.js';
import { type Asked, ask, playOut, rulesMetBy, scheduleDeeds } from '../play.js';
import { hasRefused, letFail } from '../receiver.js';
import { rideBody } from '../ride-body.js';
import type { Course, CourseParts } from '../scenario.js';
import type { RideDeed, RidePlan } from './plan.js';

/** A change that a caller asked for, or a decision of a person. */
type AskedOfRide = Asked<RideDeed['kind'] | 'resolve', RideStanding>;

export interface RideCourse extends Course {
  plan: RidePlan;
  asked: readonly AskedOfRide[];
  /** All runs of the ride, oldest first. */
  runs: readonly Execution[];
}

const account = 'business' as AccountName;
const requestId = 'r1';
const workflowId = requestRideId({ account, requestId });
const personEveryMs = 300_000;
/** A person waits at least this long before a decision. */
const patienceMs = 240_000;

/** The URL of the receiver. */
export const receiverUrl = 'https://receiver.example/ride';

export async function runRideCourse(plan: RidePlan, parts: CourseParts): Promise<RideCourse> {
  let afterMs = 0;
  const script = [
    { status: 'Pending', afterMs },
    ...[...plan.changes, { afterMs: plan.endAfterMs, status: 'Completed' }].map((change) => {
      afterMs += change.afterMs;
      return { status: change.status, afterMs };
    }),
  ];
  const world = createWorld(plan.seed, { ...parts, watch: 'model', sandbox: { rides: { script } } });
  const { scheduler, namespace } = world;
  const startedAt = scheduler.now;
  const asked: AskedOfRide[] = [];
  world.asCaller((client) => void request(world, client, plan, parts.config.taskQueue));
  const deedsMet = new Set<string>();
  scheduleDeeds(world, plan.deeds, deedsMet, (deed) => act(world, deed, asked));
  if (plan.isAnnounced) announce(world, script);
  watchRide(world, plan, asked, deedsMet);
  const receiverFailsUntil = letFail(world, receiverUrl, plan.receiver);
  const planned = Math.max(0, ...plan.deeds.map(({ atMs }) => atMs));
  const isOver = (): boolean =>
    scheduler.now > Math.max(startedAt + planned, receiverFailsUntil) &&
    namespace.newest(workflowId) !== undefined &&
    namespace.all().every((run) => !run.isOpen || !isPartOfRide(run));
  const { endedAt, met } = await playOut(world, plan.disturbances, isOver);
  const runs = namespace.runsOf(workflowId);
  if (hasRefused(world, receiverUrl)) deedsMet.add('noticeRefused');
  return { plan, world, startedAt, endedAt, asked, runs, met: new Set([...deedsMet, ...met, ...rulesMetBy(runs)]) };
}

const isPartOfRide = ({ type }: Execution): boolean => type === 'requestRide' || type === 'followOrder';

/** Requests the ride as our clients do, again while Temporal does not take the request. */
async function request(world: World, client: Client, plan: RidePlan, taskQueue: string) {
  const { isQuoted, maxEvents, wantsReceipt, receiver } = plan;
  const notify = receiver ? { notify: [{ url: receiverUrl }] } : {};
  const input = { account, requestId, order: rideBody, quote: isQuoted, receipt: wantsReceipt, ...notify };
  const args = maxEvents === null ? [input] : [input, { limits: { maxEvents } }];
  const options = { workflowId, taskQueue, args, workflowIdReusePolicy: 'REJECT_DUPLICATE' } as const;
  for (let tries = 0; tries < 1_000 && !world.namespace.newest(workflowId); tries += 1) {
    await client.workflow.start('requestRide', options).catch(() => world.scheduler.pause(5_000));
  }
}

const orderIdsOf = ({ service }: World): OrderId[] =>
  service.state.rides.all().map(({ orderId }) => orderId as OrderId);

/** Delivers the changes of the order from its create on. */
function announce(world: World, script: readonly { status: string; afterMs: number }[]): void {
  const { scheduler, ingress } = world;
  const lookEveryMs = 100;
  const look = (): void => {
    const [orderId] = orderIdsOf(world);
    if (orderId === undefined) {
      scheduler.after(lookEveryMs, look);
      return;
    }
    script.forEach(({ status, afterMs }, index) => {
      const deliver = (): void => ingress.receive(deliveryOf(world, orderId, { index, status }));
      scheduler.after(afterMs + scheduler.between(0, 2_000), deliver);
    });
  };
  look();
}

const deliveryOf = (
  { scheduler }: World,
  orderId: OrderId,
  { index, status }: { index: number; status: string },
): Delivery => ({
  account,
  eventType: 'status_changed',
  orderId,
  deliveryId: `d${index}` as DeliveryId,
  receivedAt: new Date(scheduler.now).toISOString(),
  status,
});

/**
 * A person checks the ride every few minutes. If its outcome is unknown, the person resolves it, usually after checking
 * with the service.
 */
function watchRide(world: World, { isHasty }: RidePlan, asked: AskedOfRide[], met: Set<string>): void {
  const { scheduler, namespace } = world;
  let mayTryAgain = isHasty;
  let since: number | null = null;
  const look = async (client: Client): Promise<void> => {
    const handle = client.workflow.getHandle(workflowId);
    const { attention } = await handle.query(rideStatusQuery);
    const isUnknown = attention?.code === 'outcomeUnknown';
    since = isUnknown ? (since ?? scheduler.now) : null;
    if (since === null || scheduler.now - since < patienceMs) return;
    since = null;
    met.add('outcomeUnknown');
    const [orderId] = orderIdsOf(world);
    const triesAgain = mayTryAgain || orderId === undefined;
    mayTryAgain = false;
    const args: [{ orderId: string } | { tryAgain: true }] = [triesAgain ? { tryAgain: true } : { orderId }];
    askRide(world, asked, 'resolve', (run) => run.executeUpdate(resolveRideUpdate, { args }));
  };
  const again = (): void =>
    scheduler.after(personEveryMs, () => {
      if (namespace.openRun(workflowId)) world.asCaller((client) => void look(client).catch(() => undefined));
      again();
    });
  again();
}

const askRide = (
  world: World,
  asked: AskedOfRide[],
  kind: AskedOfRide['kind'],
  send: (run: WorkflowHandle) => Promise<RideStanding>,
): void => world.asCaller((client) => ask(world, asked, kind, () => send(client.workflow.getHandle(workflowId))));

/** Returns false if there is nothing to act on. */
function act(world: World, deed: RideDeed, asked: AskedOfRide[]): boolean {
  const run = world.namespace.openRun(workflowId);
  if (!run) return false;
  const quietly = (send: (handle: WorkflowHandle) => Promise<unknown>): void =>
    world.asCaller((client) => void send(client.workflow.getHandle(workflowId)).catch(() => undefined));
  switch (deed.kind) {
    case 'update':
      askRide(world, asked, deed.kind, (handle) =>
        handle.executeUpdate(updateRideUpdate, { args: [{ order: { note_to_driver: 'Ring twice' } }] }),
      );
      return true;
    case 'cancelRide':
      askRide(world, asked, deed.kind, (handle) => handle.executeUpdate(cancelRideUpdate));
      return true;
    case 'cancel':
      quietly((handle) => handle.cancel());
      return true;
    case 'terminate':
      quietly((handle) => handle.terminate('enough'));
      return true;
    case 'reset':
      return resetTo(world, run, deed);
  }
}

/** Has the order with this id ended at the service? */
export const hasEnded = ({ service }: World, orderId: OrderId): boolean =>
  endStatuses.some((end) => end === toKnownStatus(service.statusOf(account, orderId) ?? ''));
