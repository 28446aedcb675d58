import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  type CallResult,
  createFaretrailClient,
  type FaretrailClient,
  type OrderTrail,
  type RideHandle,
  type RideResult,
} from '../../../src/client/index.js';
import { toAccountName } from '../../../src/domain/keys.js';
import type { RequestRideInput } from '../../../src/domain/ride/input.js';
import { rideCallId } from '../../../src/domain/ride/ride.js';
import type { SubscriptionKey } from '../../../src/domain/workflow-ids.js';
import { subscriptionId } from '../../../src/domain/workflow-ids.js';
import { rideStart } from '../../../src/temporal/starts.js';
import { rotateSubscriptionUpdate, subscriptionStatusQuery } from '../../../src/workflows/messages.js';
import type { requestRide } from '../../../src/workflows/ride/request-ride.js';
import type { subscription } from '../../../src/workflows/subscription/subscription.js';
import { sandboxReferenceFields } from '../../sandbox/sandbox.js';
import { type Answer, insist } from './insist.js';
import { anchorIds, type PlannedWork } from './plan-work.js';
import { noticePaths } from './receivers.js';
import { changeOf, rideBody } from './ride-bodies.js';
import { atSandboxSpeed, type Stage } from './stage.js';
import { sendStrangeMessage, startMisspelt } from './strange-messages.js';

/** An order that a caller has followed. `toldFrom`: both receivers are told of changes after that, milliseconds since the epoch. */
interface FollowedOrder {
  account: string;
  orderId: string;
  end: Answer<OrderTrail>;
  toldFrom?: number;
}

/** All requests of callers, and their results. */
export interface WorkDone {
  orders: FollowedOrder[];
  rides: { requestId: string; end: Answer<RideResult> }[];
  /** Rides of which a person had to find out whether they have an order. */
  doubted: Set<string>;
  /** Rides that a person gave up, since the service had no order of them. */
  givenUp: string[];
  /** Changes of rides that succeeded. */
  confirmed: { requestId: string; what: 'cancel' | 'change' }[];
  calls: { key: string; operation: string; end: Answer<CallResult> }[];
  /** Ids of runs that refused their input. */
  misspelt: Set<string>;
  /** Work that has not ended. */
  open: Set<string>;
  /** Counts by result: `cancel done`, `change Refused`, `refresh AlreadyEnded` ... */
  asked: Record<string, number>;
}

/** The work of the suite. */
export interface Working {
  done: WorkDone;
  /** Resolves once all work has begun. */
  begun: Promise<void>;
  /** Resolves once all work but the anchors has ended. */
  ended: Promise<void>;
  /** Ends the anchors, the orders that last as long as the faults. */
  endAnchors(): Promise<void>;
}

interface Place {
  stage: Stage;
  rides: FaretrailClient;
  done: WorkDone;
  /** When the suite stops repeating requests. */
  until: () => number;
}

const business = 'business';
const account = toAccountName(business);
const subscriptionKey: SubscriptionKey = { account, eventType: 'status_changed' };
const personEveryMs = 5_000;

/** Subscribes to all changes of business orders. Resolves once the subscription is in place. */
export async function subscribe({
  client,
  taskQueue,
  publicUrl,
}: Pick<Stage, 'client' | 'taskQueue' | 'publicUrl'>): Promise<void> {
  const run = await client.workflow.start<typeof subscription>('subscription', {
    workflowId: subscriptionId(subscriptionKey),
    taskQueue,
    args: [{ ...subscriptionKey, publicUrl }],
  });
  while ((await run.query(subscriptionStatusQuery)).state !== 'active') await sleep(200);
}

/** Begins each piece of work at its time. */
export async function startWork(stage: Stage, plan: readonly PlannedWork[], until: () => number): Promise<Working> {
  const rides = createFaretrailClient({ client: stage.client, taskQueue: stage.taskQueue });
  const done: WorkDone = {
    ...{ orders: [], rides: [], givenUp: [], confirmed: [], calls: [] },
    ...{ misspelt: new Set<string>(), open: new Set<string>(), doubted: new Set<string>(), asked: {} },
  };
  const place: Place = { stage, rides, done, until };
  const anchors = await Promise.all(anchorIds.map((orderId) => follow(place, business, orderId)));
  const startedAt = Date.now();
  const running: Promise<void>[] = [];
  const begin = async (): Promise<void> => {
    for (const one of plan) {
      await sleep(Math.max(0, startedAt + one.atMs - Date.now()));
      running.push(perform(place, one));
    }
  };
  const begun = begin();
  return {
    done,
    begun,
    ended: begun.then(async () => void (await Promise.all(running))),
    async endAnchors() {
      for (const orderId of anchorIds) await stage.sandbox.setStatus(business, orderId, 'Completed');
      await Promise.all(anchors.map((anchor) => anchor.ended));
    },
  };
}

async function perform(place: Place, work: PlannedWork): Promise<void> {
  const name = `${work.kind} ${'orderId' in work ? work.orderId : ''}${'requestId' in work ? work.requestId : ''}`;
  const { open } = place.done;
  const mine = `${name.trimEnd()} of ${work.atMs} ms`;
  open.add(mine);
  await carryOut(place, work);
  open.delete(mine);
}

async function carryOut(place: Place, work: PlannedWork): Promise<void> {
  const { stage, done, until } = place;
  switch (work.kind) {
    case 'follow': {
      const script = work.script.map(({ status, afterMs }) => ({ status, afterMs: atSandboxSpeed(afterMs) }));
      await insist(() => stage.sandbox.addOrder({ interface: work.at, orderId: work.orderId, script }), until);
      if (work.isMisspelt) done.misspelt.add(await startMisspelt(stage, work, until));
      return await (await follow(place, work.at, work.orderId, work.isTold)).ended;
    }
    case 'ride':
      return await ride(place, work);
    case 'call':
      return await call(place, work);
    case 'refresh': {
      const order = place.rides.get(work.at, work.orderId);
      return count(place, work.kind, await insist(() => order.refresh(), until));
    }
    case 'deliver': {
      const { orderIds, count: copies } = work;
      const request = { orderIds, count: copies, concurrency: 16, isRetried: true };
      return count(place, work.kind, await insist(() => stage.sandbox.deliver(request), until));
    }
    case 'message':
      return await sendStrangeMessage(stage.client, work.message);
    case 'rotate': {
      const run = stage.client.workflow.getHandle<typeof subscription>(subscriptionId(subscriptionKey));
      return count(
        place,
        work.kind,
        await insist(() => run.executeUpdate(rotateSubscriptionUpdate, { args: [{}] }), until),
      );
    }
  }
}

/** Resolves once a run follows the order; `ended` resolves once the order has ended. */
async function follow({ stage, rides, done, until }: Place, account: string, orderId: string, isTold = false) {
  const paths = Object.values(noticePaths(orderId));
  const urls = Object.values(stage.receivers).flatMap(({ origin }) => paths.map((path) => ({ url: origin + path })));
  const followed = await insist(() => rides.follow({ account, orderId, ...(isTold && { notify: urls }) }), until);
  const told = isTold ? { toldFrom: Date.now() } : {};
  const result = async (): Promise<Answer<OrderTrail>> =>
    'value' in followed ? await insist(() => followed.value.result(), until) : followed;
  return { ended: result().then((end) => void done.orders.push({ account, orderId, end, ...told })) };
}

/** For a receipt that changes 15 s after the end of its order. */
const receiptLimits = { firstReceiptMs: 30_000, receiptEveryMs: 3_000, receiptUnchangedMs: 20_000 };

/** Where there is a store, some rides wait for their receipt: for seconds, and not for minutes as those of the typed client. */
async function request({ stage, rides }: Place, input: RequestRideInput, mayWait: boolean): Promise<RideHandle> {
  if (stage.store === null || !mayWait) return await rides.request(input);
  const { args, ...start } = rideStart({ ...input, receipt: true }, stage.taskQueue);
  await stage.client.workflow
    .start<typeof requestRide>('requestRide', { ...start, args: [...args, { limits: receiptLimits }] })
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    });
  return rides.getRide(business, input.requestId);
}

async function ride(place: Place, work: PlannedWork & { kind: 'ride' }): Promise<void> {
  const { done, until } = place;
  const { requestId, wish, afterMs } = work;
  const order = rideBody(wish === 'change');
  const requested = await insist(() => request(place, { account, requestId, order }, wish === 'letGo'), until);
  if (!('value' in requested)) return void done.rides.push({ requestId, end: requested });
  const { value: handle } = requested;
  const changed = async (): Promise<void> => {
    if (wish === 'letGo') return;
    await sleep(afterMs);
    const answer = await insist(
      () => (wish === 'cancel' ? handle.cancel() : handle.change(changeOf(requestId))),
      until,
    );
    if ('value' in answer) done.confirmed.push({ requestId, what: wish });
    count(place, wish, answer);
  };
  const ending = insist(() => handle.result(), until);
  const [end] = await Promise.all([ending, changed(), resolveDoubt(place, handle, ending)]);
  done.rides.push({ requestId, end });
}

/** Plays the person until the ride has ended: looks up the order at the service after a create with an unknown outcome. */
async function resolveDoubt(place: Place, handle: RideHandle, ending: Promise<unknown>): Promise<void> {
  const { stage, done, until } = place;
  const { requestId } = handle;
  for (;;) {
    const isOver = await Promise.race([ending.then(() => true), sleep(personEveryMs, false, { ref: false })]);
    if (isOver) return;
    const standing = await handle.status().catch(() => null);
    if (standing?.attention?.code !== 'outcomeUnknown') continue;
    done.doubted.add(requestId);
    const created = await insist(() => stage.sandbox.createdOrders(), until);
    if (!('value' in created)) continue;
    const made = created.value.find((order) => order.requestId === rideCallId({ account, requestId }));
    const resolution = made ? { orderId: made.orderId } : ({ giveUp: true, reason: 'never ordered' } as const);
    const answer = await insist(() => handle.resolve(resolution), until);
    if (!made) done.givenUp.push(requestId);
    count(place, made ? 'resolve' : 'giveUp', answer);
  }
}

async function call({ rides, done, until }: Place, { key, operation }: PlannedWork & { kind: 'call' }): Promise<void> {
  const bodies = {
    products: { origin: { lat: 52.5, lng: 13.4 } },
    companySettings: undefined,
    addReferenceCode: [{ value: key.replaceAll('-', 'x') }],
    createOrder: rideBody(false),
  };
  const body = bodies[operation];
  const field = operation === 'addReferenceCode' ? { referenceFieldId: sandboxReferenceFields[0].codesId } : {};
  const end = await insist(
    () => rides.call({ account: business, operation, key, ...field, ...(body === undefined ? {} : { body }) }),
    until,
  );
  done.calls.push({ key, operation, end });
}

function count({ done: { asked } }: Place, what: string, answer: Answer<unknown>): void {
  const name = `${what} ${'value' in answer ? 'done' : answer.code}`;
  asked[name] = (asked[name] ?? 0) + 1;
}
