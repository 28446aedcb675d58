import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import fc from 'fast-check';
import { expect, vi } from 'vitest';
import { orderHandle } from '../../../src/client/handles.js';
import type { DeliveryNotice } from '../../../src/domain/delivery.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import type { followOrder } from '../../../src/workflows/order/follow-order.js';
import { newDelivery, portOf } from '../delivery/deliveries.js';
import { patient } from '../patience.js';
import { followAgain } from './ends.js';
import type { FollowHandle, OrderStack, OrderStackOptions } from './stack.js';

export const readStatuses = ({ timeline }: OrderTrail): string[] =>
  timeline.flatMap(({ source, status }) => (source === 'read' ? [status] : []));

/** Do the words of `part` stand in `whole` in this order, others between them or not? */
function isSubsequence(part: readonly string[], whole: readonly string[]): boolean {
  let at = 0;
  for (const word of whole) if (word === part[at]) at += 1;
  return at === part.length;
}

/** The run adds no event while the order is read so many times; an answer that was on its way during a change may cost one more read before. */
export async function isQuiet(
  { sandbox }: OrderStack,
  { handle, orderId }: { handle: FollowHandle; orderId: string },
  times: number,
): Promise<void> {
  const reads = () => sandbox.ledger({ orderId }).length;
  const readTimes = (before: number) => vi.waitFor(() => expect(reads()).toBeGreaterThan(before + times), patient);
  await readTimes(reads());
  await vi.waitFor(async () => {
    const { historyLength } = await handle.describe();
    await readTimes(reads());
    expect((await handle.describe()).historyLength).toBe(historyLength);
  }, patient);
}

/** Whatever is read is read because of a message, or because a run continued as new. */
export const slowPolls: OrderStackOptions = {
  env: { FARETRAIL_POLL_ACTIVE_MS: '3600000', FARETRAIL_POLL_PUSHED_MS: '3600000' },
};

/** So low that most runs continue as new more than once. */
const limits = { maxEvents: 60, maxSignals: 5 };
const statuses = ['Routing', 'Confirmed', 'Driving', 'Waiting', 'Transporting'];
const account = toAccountName('business');

type OrderStep =
  | { do: 'change'; to: string }
  | { do: 'deliver'; claims: string; again: boolean }
  | { do: 'refresh' }
  | { do: 'restart worker' }
  | { do: 'end by mistake and follow again' }
  | { do: 'wait'; ms: number };

const status = fc.constantFrom(...statuses);
const step: fc.Arbitrary<OrderStep> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('change' as const), to: status }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('deliver' as const), claims: status, again: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constant({ do: 'refresh' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart worker' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'end by mistake and follow again' as const }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 400 }) }) },
);

/** What must be true of one order, whatever happens to it. */
interface Model {
  orderId: string;
  status: string;
  changes: string[];
  sent: DeliveryNotice[];
  duplicates: number;
  lastArrival: string;
}

const now = () => new Date().toISOString();
const readsSince = ({ sandbox }: OrderStack, orderId: string, at: string) =>
  sandbox.ledger({ orderId }).filter((read) => read.at >= at);

async function deliverOne(stack: OrderStack, model: Model, claims: string, again: boolean): Promise<void> {
  const { orderId, sent } = model;
  const repeated = again ? sent.at(-1) : undefined;
  if (repeated) model.duplicates += 1;
  const notice = repeated ?? newDelivery({ status: claims });
  model.lastArrival = now();
  const outcome = await portOf(stack).toOrder({ account, orderId: toOrderId(orderId) }, [notice]);
  // A run that continued as new has read at once, and may have seen the end by itself.
  if (outcome === 'late' && model.status === 'Completed') return;
  expect(outcome).toBe('signalled');
  model.sent.push(notice);
}

/** Resolves once no read is under way, nor any that follows from what was done so far. */
async function quiet(stack: OrderStack, orderId: string): Promise<void> {
  for (let seen = -1, reads = 0; seen !== reads; reads = readsSince(stack, orderId, '').length) {
    seen = reads;
    await sleep(400);
  }
}

let restarting = Promise.resolve();
/** One after the other, whichever order asks for it. */
function restarted(stack: OrderStack): Promise<void> {
  restarting = restarting.then(async () => {
    await stack.stopWorker();
    await stack.startWorker();
  });
  return restarting;
}

async function take(
  stack: OrderStack,
  model: Model,
  handle: WorkflowHandle<typeof followOrder>,
  step: OrderStep,
): Promise<void> {
  if (step.do === 'change') {
    stack.sandbox.setStatus('business', model.orderId, step.to);
    if (step.to !== model.status) model.changes.push(step.to);
    model.status = step.to;
  } else if (step.do === 'deliver') {
    await deliverOne(stack, model, step.claims, step.again);
  } else if (step.do === 'refresh') {
    await orderHandle(stack.client, { account, orderId: toOrderId(model.orderId) }).refresh();
  } else if (step.do === 'restart worker') {
    await restarted(stack);
  } else if (step.do === 'end by mistake and follow again') {
    await handle.terminate();
    await followAgain(stack, handle.workflowId, limits);
  } else {
    await sleep(step.ms);
  }
}

async function checkEnd(stack: OrderStack, model: Model, trail: OrderTrail): Promise<void> {
  const { orderId, sent, duplicates } = model;
  expect(trail).toMatchObject({ status: 'Completed', outcome: 'completed', terminal: true });
  expect(trail.deliveries).toEqual({ received: sent.length, duplicate: duplicates });
  expect(isSubsequence(readStatuses(trail), model.changes)).toBe(true);
  // A late delivery, new or repeated, finds the order finished and starts nothing (I5).
  const key = { account, orderId: toOrderId(orderId) };
  const late = newDelivery({ status: 'Driving' });
  expect(await portOf(stack).toOrder(key, [late, ...sent.slice(-1)])).toBe('late');
}

/** Three courses, which three orders take side by side. */
export const deliveryCourses = fc.array(fc.array(step, { minLength: 3, maxLength: 14 }), {
  minLength: 3,
  maxLength: 3,
});

/** Takes a new order through the course to its end and checks the promises on the way. Gives the id of its workflow. */
export async function goThroughDeliveries(stack: OrderStack, steps: readonly OrderStep[]): Promise<string> {
  const orderId = stack.newOrder('business', [['Routing', 0]]);
  const handle = stack.client.workflow.getHandle<typeof followOrder>(`order/business/${orderId}`);
  await stack.follow('business', orderId, {}, limits);
  const model: Model = {
    orderId,
    status: 'Routing',
    changes: ['Routing'],
    sent: [],
    duplicates: 0,
    lastArrival: now(),
  };
  for (const each of steps) await take(stack, model, handle, each);
  // Two changes may have equal bodies: in the end comes a repeated delivery that no read under way can answer.
  await quiet(stack, orderId);
  await deliverOne(stack, model, 'Driving', true);
  // A read starts after the last delivery arrived, and so after each of them (I2).
  await vi.waitFor(() => expect(readsSince(stack, orderId, model.lastArrival).length).toBeGreaterThan(0), patient);
  stack.sandbox.setStatus('business', orderId, 'Completed');
  model.status = 'Completed';
  model.changes.push('Completed');
  await deliverOne(stack, model, 'Completed', false);
  await checkEnd(stack, model, await handle.result());
  return handle.workflowId;
}
