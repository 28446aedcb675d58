import type { Client } from '@temporalio/client';
import { FaretrailError } from '../domain/errors.js';
import { isFollowedAgain, type OrderEnd } from '../domain/order/earlier-run.js';
import type { FollowOrderInput, FollowRequest } from '../domain/order/input.js';
import { type FollowOrderKey, followOrderId } from '../domain/workflow-ids.js';
import { followRequestedSignal } from '../workflows/messages.js';
import type { FollowOrderProgress, followOrder } from '../workflows/order/follow-order.js';
import { FaretrailClientError, grpcErrorOf, hasCode } from './run-errors.js';
import { runOf, unlessEnded } from './runs.js';
import { singleRunStart } from './starts.js';

/** What a client starts `followOrder` with, or signals it with a start. */
type OrderStart = Omit<ReturnType<typeof orderStart>, 'args' | 'workflowIdReusePolicy'> & {
  args: [FollowOrderInput] | [FollowOrderInput, FollowOrderProgress];
  workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY';
};

/** Options of a client that starts `followOrder` where no run of the order has ended yet, or joins the one that goes on. */
export const orderStart = (input: FollowOrderInput, taskQueue: string) =>
  singleRunStart({
    workflowId: followOrderId(input),
    taskQueue,
    input,
    summary: `Order ${input.orderId} of account ${input.account}`,
  });

/** The same after a run that ended before its order did: the new one goes on with its timeline. */
const orderRestart = (
  input: FollowOrderInput,
  taskQueue: string,
  { runId, hasResult }: { runId: string; hasResult: boolean },
): OrderStart => ({
  ...orderStart(input, taskQueue),
  args: [input, { continues: runId }],
  // Another caller may be faster, and then the order may even have ended: what failed may be followed by a success only once.
  workflowIdReusePolicy: hasResult ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
});

// The one rule of how an order comes to be followed, whoever wants it and whatever became of earlier runs.

/** The newest run of an order. `open`: it goes on, or is just being continued. */
type LastRun = { kind: 'none' } | { kind: 'open' } | { kind: 'ended'; runId: string; end: OrderEnd };

/** The answer to a start: that of `start`, and how the run before ended that the new one goes on with; or the end that stays. */
type OrderBegun<T> = { answer: T; after: OrderEnd | null } | { stays: OrderEnd };

/** What is started, and by which end of an earlier run it is started anew. */
interface OrderBeginning<T> {
  input: FollowOrderInput;
  taskQueue: string;
  /** Starts with these options. Rejects with `WorkflowExecutionAlreadyStartedError` where they do not allow it. */
  start(options: OrderStart): Promise<T>;
  isStartedAgain(end: OrderEnd): boolean;
}

/** Callers that are faster cost a round each; more than two at the same moment are rare. */
const maxRounds = 5;

/**
 * Starts a run of the order, joins the one that goes on, or starts it anew. The calls beside the start are made only where a run
 * has ended. Any number of callers may do so at once.
 */
export async function beginOrder<T>(client: Client, beginning: OrderBeginning<T>): Promise<OrderBegun<T>> {
  const { input, taskQueue, start, isStartedAgain } = beginning;
  for (let round = 0; round < maxRounds; round += 1) {
    const first = await unlessEnded(start(orderStart(input, taskQueue)));
    if (first) return { ...first, after: null };
    const last = await readLastRun(client, input);
    if (last.kind !== 'ended') continue; // somebody else has just started it, or Temporal has just forgotten it
    if (!isStartedAgain(last.end)) return { stays: last.end };
    const { runId, end } = last;
    const again = await unlessEnded(start(orderRestart(input, taskQueue, { runId, hasResult: end !== 'brokenOff' })));
    if (again) return { ...again, after: end };
  }
  throw new FaretrailError('OrderContended', `${followOrderId(input)} is started and ended by others all the time`);
}

/** Has an order followed as `input` says, in one step with its start. `again`: also one whose following was stopped or expired. */
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

/** What the run is told, too, since it may be there already. */
export function toFollowRequest({ account: _account, orderId: _orderId, ...request }: FollowOrderInput): FollowRequest {
  return request;
}

/** The newest run of an order; one that has ended is asked how. */
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

const outcomes: Record<Exclude<OrderEnd, 'brokenOff' | 'unreadable'>, true> = {
  completed: true,
  cancelled: true,
  rejected: true,
  stopped: true,
  expired: true,
};

function toEnd(result: unknown): OrderEnd {
  const { outcome } = (result ?? {}) as { outcome?: unknown };
  return typeof outcome === 'string' && Object.hasOwn(outcomes, outcome) ? (outcome as OrderEnd) : 'unreadable';
}
