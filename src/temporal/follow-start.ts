import type { Client } from '@temporalio/client';
import { FaretrailError } from '../domain/errors.js';
import { isFollowedAgain, type OrderEnd } from '../domain/order/earlier-run.js';
import type { FollowOrderInput, FollowRequest } from '../domain/order/input.js';
import { outcomes } from '../domain/order/trail.js';
import { type FollowOrderKey, followOrderId } from '../domain/workflow-ids.js';
import { followRequestedSignal } from '../workflows/messages.js';
import type { FollowOrderProgress, followOrder } from '../workflows/order/follow-order.js';
import { FaretrailClientError, grpcErrorOf, hasCode } from './run-errors.js';
import { runOf, unlessEnded } from './runs.js';
import { singleRunStart } from './starts.js';

/** Options of a start of `followOrder`, also with a signal. */
type OrderStart = Omit<ReturnType<typeof orderStart>, 'args' | 'workflowIdReusePolicy'> & {
  args: [FollowOrderInput] | [FollowOrderInput, FollowOrderProgress];
  workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY';
};

/** Options of a start of `followOrder` where no run of the order has ended yet. A start joins an open run. */
export const orderStart = (input: FollowOrderInput, taskQueue: string) =>
  singleRunStart(followOrderId(input), input, taskQueue, `Order ${input.orderId} of account ${input.account}`);

/** The same after a run that ended before its order did: the new run continues its timeline. */
const orderRestart = (
  input: FollowOrderInput,
  taskQueue: string,
  { runId, hasResult }: { runId: string; hasResult: boolean },
): OrderStart => ({
  ...orderStart(input, taskQueue),
  args: [input, { continues: runId }],
  // Another caller may start its run first, and that run may already have completed: a failed run is followed by one success only.
  workflowIdReusePolicy: hasResult ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
});

/** The newest run of an order. `open`: it is running, or continuing as new. */
type LastRun = { kind: 'none' } | { kind: 'open' } | { kind: 'ended'; runId: string; end: OrderEnd };

/** The answer of `start`; or how the last run ended, where no other run follows it. */
type OrderBegun<T> = { answer: T } | { stays: OrderEnd };

/** What to start, and after which end of an earlier run to start again. */
interface OrderBeginning<T> {
  input: FollowOrderInput;
  taskQueue: string;
  /** Starts with these options. Rejects with `WorkflowExecutionAlreadyStartedError` where they do not allow it. */
  start(options: OrderStart): Promise<T>;
  isStartedAgain(end: OrderEnd): boolean;
}

/** Each caller that starts its run first costs a round; more than two at the same moment are rare. */
const maxRounds = 5;

/**
 * Starts a run of the order, joins the open one, or starts another after one that ended. Every way to follow an order uses
 * this. Only where a run has ended it costs more than one call. Any number of callers may do so at once.
 */
export async function beginOrder<T>(client: Client, beginning: OrderBeginning<T>): Promise<OrderBegun<T>> {
  const { input, taskQueue, start, isStartedAgain } = beginning;
  for (let round = 0; round < maxRounds; round += 1) {
    const first = await unlessEnded(start(orderStart(input, taskQueue)));
    if (first) return first;
    const last = await readLastRun(client, input);
    if (last.kind !== 'ended') continue; // another caller has just started a run, or Temporal has just forgotten the last one
    if (!isStartedAgain(last.end)) return { stays: last.end };
    const { runId, end } = last;
    const again = await unlessEnded(start(orderRestart(input, taskQueue, { runId, hasResult: end !== 'brokenOff' })));
    if (again) return again;
  }
  throw new FaretrailError('OrderContended', `other callers keep starting and ending ${followOrderId(input)}`);
}

/** Starts a run with `input`, or sends `input` to the open run. `again`: also after a run that was stopped or has expired. */
export const beginFollowing = (
  client: Client,
  { input, taskQueue, again = false }: { input: FollowOrderInput; taskQueue: string; again?: boolean },
): Promise<OrderBegun<unknown>> =>
  beginOrder(client, {
    input,
    taskQueue,
    start: (options) =>
      client.workflow.signalWithStart<typeof followOrder, [FollowRequest]>('followOrder', {
        ...options,
        signal: followRequestedSignal,
        signalArgs: [toFollowRequest(input)],
      }),
    isStartedAgain: (end) => isFollowedAgain(end, again),
  });

/** What a start sends as a signal, too: a run that is already open does not get the input of the start. */
export function toFollowRequest({ account: _account, orderId: _orderId, ...request }: FollowOrderInput): FollowRequest {
  return request;
}

/** The newest run of an order, with its end from its result. */
export async function readLastRun(client: Client, key: FollowOrderKey): Promise<LastRun> {
  const workflowId = followOrderId(key);
  const found = await runOf(client, workflowId).find();
  if (!found) return { kind: 'none' };
  const { runId, status } = found;
  if (brokenOffStates.includes(status.name)) return { kind: 'ended', runId, end: 'brokenOff' };
  if (status.name !== 'COMPLETED') return { kind: 'open' };
  try {
    return { kind: 'ended', runId, end: toEnd(await runOf(client, workflowId, runId).result()) };
  } catch (error) {
    if (hasCode(error, 'NotFound')) return { kind: 'none' }; // Temporal has just forgotten it
    if (error instanceof FaretrailClientError || grpcErrorOf(error)) throw error;
    return { kind: 'ended', runId, end: 'unreadable' }; // Temporal gives the result, and this process cannot read it
  }
}

const brokenOffStates: readonly string[] = ['FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT'];

function toEnd(result: unknown): OrderEnd {
  const { outcome } = (result ?? {}) as { outcome?: unknown };
  return outcomes.find((known) => known === outcome) ?? 'unreadable';
}
