import type { Client } from '@temporalio/client';
import { deadlineIn, monotonicMs } from '../clock.js';
import type { BusinessCallInput } from '../domain/call.js';
import { readDeliveries } from '../domain/delivery.js';
import { FaretrailError, InvalidInput } from '../domain/errors.js';
import { UndecodablePayload } from '../domain/input-fields.js';
import { iso } from '../domain/instant.js';
import {
  atStart,
  type FollowedOrder,
  goOnFrom,
  isFollowedAgain,
  type OrderEnd,
  withDeliveries,
  withObservation,
  withRequest,
} from '../domain/order/earlier-run.js';
import {
  type FollowOrderInput,
  type FollowRequest,
  parseFollowOrderInput,
  readFollowRequest,
} from '../domain/order/input.js';
import { isSameStatus } from '../domain/order/status.js';
import { type OrderObservation, outcomes, seenBy } from '../domain/order/trail.js';
import type { CompanyReportInput } from '../domain/report.js';
import type { RequestRideInput } from '../domain/ride/input.js';
import { createSignalPace, type SignalPace } from '../domain/signal-pace.js';
import { readNextFinding } from '../domain/watch.js';
import {
  businessCallId,
  type CompanyReportKey,
  companyReportId,
  earlierId,
  type FollowOrderKey,
  followOrderId,
  requestRideId,
} from '../domain/workflow-ids.js';
import { deliveryReceivedSignal, followRequestedSignal } from '../workflows/messages.js';
import type { FollowOrderProgress, followOrder } from '../workflows/order/follow-order.js';
import { FaretrailClientError, grpcErrorOf, hasCode } from './run-errors.js';
import { decodeAll, type HistoryEvents, msOf, runOf, unlessEnded } from './runs.js';

// Every way to start a run. Options of starts first; an order needs more, since a run may have ended before it did.

/** Each account gets its share of the workers where the server has fairness on: a burst of one account delays no other. */
export const priorityOf = (account: string) => ({ fairnessKey: account });

/**
 * Options of a start that never makes a second run with the same id: a later start joins the open run, and the server
 * rejects it when that run has ended.
 */
export const singleRunStart = <Input extends { account: string }>(
  workflowId: string,
  input: Input,
  taskQueue: string,
  staticSummary: string,
) => ({
  workflowId,
  taskQueue,
  args: [input] as [Input],
  workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  priority: priorityOf(input.account),
  staticSummary,
});

/** Starts a run that serves a whole account, unless it runs already. It may start again after its end. */
export async function startServing(
  client: Client,
  type: string,
  {
    account,
    ...given
  }: { account: string; workflowId: string; taskQueue: string; args: unknown[]; staticSummary: string },
): Promise<void> {
  const options = { ...given, priority: priorityOf(account) };
  const policies = { workflowIdReusePolicy: 'ALLOW_DUPLICATE', workflowIdConflictPolicy: 'USE_EXISTING' } as const;
  await client.withDeadline(deadlineIn(5_000), () => client.workflow.start(type, { ...options, ...policies }));
}

/** Options of a start of `businessCall`. One key is one call, even when it failed: a call with an unknown outcome must never have
 *  a second effect. */
export const businessCallStart = (input: BusinessCallInput, taskQueue: string) =>
  singleRunStart(businessCallId(input), input, taskQueue, `${input.operation} of account ${input.account}`);

/** Options of a start of `companyReport`, also with a signal. It may start again after its end, since a price may change long after
 *  the last report. */
export const reportStart = (key: CompanyReportKey, input: CompanyReportInput, taskQueue: string) => ({
  ...singleRunStart(
    companyReportId(key),
    input,
    taskQueue,
    `Company reports of account ${key.account} about ${key.about}`,
  ),
  workflowIdReusePolicy: 'ALLOW_DUPLICATE' as const,
});

/** Options of a start of `requestRide`. One request id is one ride. */
export const rideStart = (input: RequestRideInput, taskQueue: string) =>
  singleRunStart(requestRideId(input), input, taskQueue, `Ride ${input.requestId} of account ${input.account}`);

/** Options of a start of `followOrder`, also with a signal. */
type OrderStart = Omit<ReturnType<typeof orderStart>, 'args' | 'workflowIdReusePolicy'> & {
  args: [FollowOrderInput] | [FollowOrderInput, FollowOrderProgress];
  workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY';
};

/** Options of a start of `followOrder` where no run of the order has ended yet. A start joins an open run. */
export const orderStart = (input: FollowOrderInput, taskQueue: string) =>
  singleRunStart(followOrderId(input), input, taskQueue, `Order ${input.orderId} of account ${input.account}`);

/** The same after a run that ended before its order did: the new run goes on with what that run left. */
function orderRestart(
  input: FollowOrderInput,
  taskQueue: string,
  { end, before }: { end: OrderEnd; before: FollowedOrder | 'nothing' | 'unreadable' },
): OrderStart {
  const options = orderStart(input, taskQueue);
  const goesOn = typeof before === 'object' && goOnFrom(before, end, input);
  return {
    ...options,
    args: goesOn ? [goesOn.input, { left: goesOn.left }] : options.args,
    // Another caller may start its run first, and that run may already have completed: a failed run is followed by one success only.
    workflowIdReusePolicy: end === 'brokenOff' ? 'ALLOW_DUPLICATE_FAILED_ONLY' : 'ALLOW_DUPLICATE',
  };
}

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
    const last = await readEnd(client, input);
    if (!last) continue; // another caller has just started a run, or Temporal has just forgotten the last one
    if (!isStartedAgain(last.end)) return { stays: last.end };
    const before = await readLeft(client, input, last.runId);
    if (before === 'unreadable' && !isStartedAgain(before)) return { stays: before };
    const again = await unlessEnded(start(orderRestart(input, taskQueue, { end: last.end, before })));
    if (again) return again;
  }
  throw new FaretrailError('OrderContended', `other callers keep starting and ending ${followOrderId(input)}`);
}

/** Starts the first run of an order. False, and nothing is done: Temporal knows a run of it, open or ended. */
export async function startFirst(
  client: Client,
  { input, taskQueue }: { input: FollowOrderInput; taskQueue: string },
): Promise<boolean> {
  const earlier = earlierId(followOrderId(input));
  if (earlier && (await runOf(client, earlier).find())) return false;
  const options = { ...orderStart(input, taskQueue), workflowIdConflictPolicy: 'FAIL' as const };
  return (await unlessEnded(client.workflow.start<typeof followOrder>('followOrder', options))) !== undefined;
}

interface Following {
  input: FollowOrderInput;
  taskQueue: string;
  /** Also after a run that was stopped or has expired. */
  again?: boolean;
}

/** What a process has sent to runs by `beginFollowing`, and what waits until its run may have another signal. */
const followings = new WeakMap<Client, { pace: SignalPace; waiting: Map<string, ReturnType<typeof send>> }>();

/**
 * Starts a run with `input`, or sends `input` to the open run. After many calls for one order, calls wait; equal calls
 * that wait share one signal.
 */
export function beginFollowing(client: Client, following: Following): Promise<OrderBegun<unknown>> {
  const sent = followings.get(client) ?? { pace: createSignalPace(monotonicMs), waiting: new Map() };
  followings.set(client, sent);
  const { pace, waiting } = sent;
  const workflowId = followOrderId(following.input);
  const inPace = async () => {
    for (let waitMs = pace.waitMs(workflowId); waitMs > 0; waitMs = pace.waitMs(workflowId))
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    waiting.delete(key);
    pace.count(workflowId);
    return await send(client, following);
  };
  const key = JSON.stringify(following);
  if (pace.waitMs(workflowId) === 0) return inPace();
  const call = waiting.get(key) ?? inPace();
  waiting.set(key, call);
  return call;
}

async function send(client: Client, { input, taskQueue, again = false }: Following): Promise<OrderBegun<unknown>> {
  const request = toFollowRequest(input);
  const earlier = earlierId(followOrderId(input));
  if (earlier && (await runOf(client, earlier).signal(followRequestedSignal, request))) return { answer: earlier };
  return await beginOrder(client, {
    input,
    taskQueue,
    start: (options) =>
      client.workflow.signalWithStart<typeof followOrder, [FollowRequest]>('followOrder', {
        ...options,
        signal: followRequestedSignal,
        signalArgs: [request],
      }),
    isStartedAgain: (end) => isFollowedAgain(end, again),
  });
}

/** What a start sends as a signal, too: a run that is already open does not get the input of the start. */
export function toFollowRequest({ account: _account, orderId: _orderId, ...request }: FollowOrderInput): FollowRequest {
  return request;
}

/** How the newest run of an order has ended. Undefined: it is open, or Temporal has forgotten it. */
async function readEnd(client: Client, key: FollowOrderKey): Promise<{ runId: string; end: OrderEnd } | undefined> {
  const workflowId = followOrderId(key);
  const { runId = '', status } = (await runOf(client, workflowId).find()) ?? {};
  if (brokenOffStates.includes(status?.name ?? '')) return { runId, end: 'brokenOff' };
  if (status?.name !== 'COMPLETED') return undefined;
  try {
    return { runId, end: toEnd(await runOf(client, workflowId, runId).result()) };
  } catch (error) {
    if (hasCode(error, 'NotFound')) return undefined;
    if (error instanceof FaretrailClientError || grpcErrorOf(error)) throw error;
    return { runId, end: 'unreadable' }; // Temporal gives the result, and this process cannot read it
  }
}

const brokenOffStates: readonly string[] = ['FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT'];

function toEnd(result: unknown): OrderEnd {
  const { outcome } = (result ?? {}) as { outcome?: unknown };
  return outcomes.find((known) => known === outcome) ?? 'unreadable';
}

/**
 * What a run that has ended leaves to the next one. Its history tells, so no worker has to live. `nothing`: Temporal has forgotten the
 * run, or its input was wrong. `unreadable`: this process lacks the key of its payloads.
 */
export async function readLeft(
  client: Client,
  key: FollowOrderKey,
  runId: string,
): Promise<FollowedOrder | 'nothing' | 'unreadable'> {
  const events = (await runOf(client, followOrderId(key), runId).events()) ?? [];
  let order: FollowedOrder | 'nothing' = 'nothing';
  try {
    for (const event of events) order = await after(event, order, { client, events });
    return order;
  } catch (error) {
    return error instanceof InvalidInput ? 'nothing' : 'unreadable';
  }
}

/** Records an event as the run has recorded it. */
async function after(
  event: HistoryEvents[number],
  before: FollowedOrder | 'nothing',
  { client, events }: { client: Client; events: HistoryEvents },
): Promise<FollowedOrder | 'nothing'> {
  const at = iso(Math.floor(msOf(event.eventTime)));
  const start = event.workflowExecutionStartedEventAttributes;
  if (start) {
    const [input, progress] = await decodeAll(client, start.input?.payloads);
    return atStart(parseFollowOrderInput(input), at, (progress as FollowOrderProgress | undefined)?.left);
  }
  if (before === 'nothing') return before;
  const signal = event.workflowExecutionSignaledEventAttributes;
  const [argument] = await decodeAll(client, signal?.input?.payloads);
  if (signal?.signalName === deliveryReceivedSignal.name)
    return { ...before, ...withDeliveries(before, readDeliveries(argument, at)) };
  if (signal?.signalName === followRequestedSignal.name)
    return { ...before, ...withRequest(before, readFollowRequest(argument).request) };
  const done = event.activityTaskCompletedEventAttributes;
  const asked = done && events[Number(done.scheduledEventId) - 1]?.activityTaskScheduledEventAttributes;
  const name = asked?.activityType?.name;
  if (name !== 'readOrder' && name !== 'nextReading') return before;
  const [seen] = await decodeAll(client, done?.result?.payloads);
  if (seen instanceof UndecodablePayload) return before;
  if (name === 'nextReading') {
    const found = readNextFinding(seen);
    if (found === null || !isSameStatus(before.trail.status, found.comparedWith)) return before;
    return { ...before, ...withObservation(before, seenBy(at, found), []) };
  }
  return { ...before, ...withObservation(before, seenBy(at, seen as OrderObservation), before.claims) };
}
