import {
  ActivityExecutionAlreadyStartedError,
  ActivityExecutionFailedError,
  type ActivityExecutionInfo,
  ActivityNotFoundError,
  type Client,
  type ConnectionLike,
  ServiceError,
} from '@temporalio/client';
import { ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import type { CallActivities } from '../activities/call.js';
import { type BusinessCallInput, isChanging, longCallMs, toCallFailure } from '../domain/call.js';
import type { AccountName } from '../domain/keys.js';
import { quote, searchAttributeNames } from '../domain/search-attribute-names.js';
import { businessCallId, fromBusinessCallId } from '../domain/workflow-ids.js';
import type { businessCall } from '../workflows/business-call.js';
import { isGrpc, toClientError } from './run-errors.js';
import { type CallOptions, runOf, unlessEnded } from './runs.js';
import { businessCallStart, readCallStart } from './starts.js';

// A call that changes something is a workflow. A read is the activity of that workflow by itself, at about a third of the cost, where the
// server starts activities without a workflow. Both have the same id, and the server knows activities and workflows apart.

/** A call with this key that Temporal knows. */
export interface FoundCall {
  isOpen: boolean;
  startedAt: string;
}

/** Carries out a business operation: joins the call of this key, or gives the outcome of the ended one. Rejects as `Run.result` does. */
export async function carryOutCall(client: Client, input: BusinessCallInput, taskQueue: string): Promise<unknown> {
  if (!isChanging(input.operation) && (await beginRead(client, input, taskQueue)))
    return await readResult(client, input);
  const start = businessCallStart(input, taskQueue);
  await unlessEnded(client.workflow.start<typeof businessCall>('businessCall', start));
  return await runOf(client, start.workflowId).result();
}

/** The call of this key, a workflow or an activity; undefined when Temporal remembers none. */
export async function findCall(
  client: Client,
  input: BusinessCallInput,
  options: CallOptions = {},
): Promise<FoundCall | undefined> {
  const { read, workflow } = await findBoth(client, input, options);
  return read && !isElder(workflow, read) ? read : workflow;
}

/** Which reads to look for. */
export interface ReadFilter {
  account?: AccountName | undefined;
  /** Only those that have been open for longer than a minute: they show attention, as the workflow of a call does. */
  isLong?: boolean;
  /** Only those for workers of this setting `FARETRAIL_TASK_QUEUE`. */
  taskQueue?: string;
}

const readsQuery = ({ account, isLong = false, taskQueue }: ReadFilter): string =>
  [
    "ActivityType = 'callService'",
    ...(account === undefined ? [] : [`${searchAttributeNames.account} = ${quote(account)}`]),
    ...(isLong
      ? ["ExecutionStatus = 'Running'", `StartTime < '${new Date(Date.now() - longCallMs).toISOString()}'`]
      : []),
    ...(taskQueue === undefined ? [] : [`TaskQueue STARTS_WITH ${quote(`${taskQueue}.`)}`]),
  ].join(' AND ');

/** The reads that are activities by themselves, about a second late. None where the server starts no such activities. */
export async function* listReads(client: Client, filter: ReadFilter): AsyncGenerator<ActivityExecutionInfo> {
  try {
    for await (const info of client.activity.list(readsQuery(filter)))
      if (fromBusinessCallId(info.activityId)) yield info;
  } catch (error) {
    if (!isNotOffered(error)) throw error;
  }
}

/** Counts them. */
export async function countReads(client: Client, filter: ReadFilter): Promise<number> {
  try {
    return (await client.activity.count(readsQuery(filter))).count;
  } catch (error) {
    if (isNotOffered(error)) return 0;
    throw error;
  }
}

async function findBoth(client: Client, input: BusinessCallInput, options: CallOptions = {}) {
  const id = businessCallId(input);
  const [read, workflow] = await Promise.all([
    isChanging(input.operation) ? undefined : findRead(client, id, options),
    runOf(client, id).find(options),
  ]);
  return { read, workflow };
}

/** A caller in another language may have used a key as a workflow too: then the elder call is the answer. */
const isElder = (workflow: FoundCall | undefined, read: FoundCall): boolean =>
  workflow !== undefined && workflow.startedAt < read.startedAt;

/** The read with this id; undefined when Temporal remembers none. */
export async function findRead(client: Client, id: string, { withinMs }: CallOptions): Promise<FoundCall | undefined> {
  const describe = () => client.activity.getHandle(id).describe();
  try {
    const { status, scheduleTime } = await (withinMs === undefined
      ? describe()
      : client.withDeadline(Date.now() + withinMs, describe));
    return { isOpen: status === 'RUNNING', startedAt: (scheduleTime ?? new Date()).toISOString() };
  } catch (error) {
    if (error instanceof ActivityNotFoundError || isNotOffered(error)) return undefined;
    throw toClientError(error, id);
  }
}

/** What a read was started with, decrypted. Rejects where that fails. */
export async function inputOfRead(client: Client, id: string, runId: string | undefined): Promise<unknown[]> {
  try {
    return (await (await client.activity.getHandle(id, runId).describe({ includeInput: true })).getInput()) ?? [];
  } catch (error) {
    if (error instanceof ActivityNotFoundError) return []; // removed, and still in the list
    throw error;
  }
}

/** The connections whose server starts no activities by themselves, as it said to a first start. */
const withoutReads = new WeakSet<ConnectionLike>();

/** An older server, or one where `activity.enableStandalone` is off. The server has begun nothing. */
export const isNotOffered = (error: unknown): boolean => isGrpc(error, 'UNIMPLEMENTED');

/** False where the call has to be a workflow, or is one already. */
async function beginRead(client: Client, input: BusinessCallInput, taskQueue: string): Promise<boolean> {
  if (withoutReads.has(client.connection)) return false;
  const id = businessCallId(input);
  const workflow = await runOf(client, id).find();
  if (workflow !== undefined) {
    const read = await findRead(client, id, {});
    return read !== undefined && !isElder(workflow, read);
  }
  try {
    await client.activity.typed<CallActivities>().start('callService', readCallStart(input, taskQueue));
    return true;
  } catch (error) {
    if (error instanceof ActivityExecutionAlreadyStartedError) return true; // it has ended
    if (!isNotOffered(error)) throw error;
    withoutReads.add(client.connection);
    return false;
  }
}

async function readResult(client: Client, input: BusinessCallInput): Promise<unknown> {
  const id = businessCallId(input);
  try {
    return await resultOfActivity(client, id);
  } catch (error) {
    throw toClientError(error instanceof ActivityExecutionFailedError ? asOfWorkflow(error, input) : error, id);
  }
}

/** Waits for the result of an activity by itself. Rejects with the errors of the SDK, or with why the result cannot be decoded, such as a
 *  missing key, which the SDK hides. */
export async function resultOfActivity(client: Client, id: string): Promise<unknown> {
  const handle = client.activity.getHandle(id);
  try {
    return await handle.result();
  } catch (error) {
    if (!(error instanceof ServiceError && error.cause === undefined)) throw error;
    return await (await handle.describe({ includeOutcome: true })).getResult();
  }
}

/** The same failure as that of `businessCall`. A call that was cancelled or terminated keeps its own. */
function asOfWorkflow(error: ActivityExecutionFailedError, input: BusinessCallInput): ActivityExecutionFailedError {
  const { cause, message, activityId, runId } = error;
  if (!(cause instanceof ApplicationFailure || cause instanceof TimeoutFailure)) return error;
  const failure = toCallFailure(cause instanceof ApplicationFailure ? cause : null, input);
  return new ActivityExecutionFailedError(message, ApplicationFailure.create(failure), activityId, runId);
}
