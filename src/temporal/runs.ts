import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
  type QueryDefinition,
  QueryNotRegisteredError,
  type SignalDefinition,
  type UpdateDefinition,
  type Workflow,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionDescription,
  type WorkflowHandle,
  WorkflowNotFoundError,
  type WorkflowResultType,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { askedAhead } from '../domain/errors.js';
import { FaretrailClientError, grpcErrorOf, notFound, toClientError } from './run-errors.js';

// The one driver of runs: the typed client, the commands, the Nexus service and the ports of the activities all find, ask and
// await runs by it. `starts.ts` and `follow-start.ts` say what a run is started with.

/** How long a call may take. Without `withinMs` the deadline of the caller holds, for Temporal's client has none of its own. */
export interface CallOptions {
  withinMs?: number;
}

/** One run by its workflow id, whether it exists or not. Every call rejects with `FaretrailClientError` where we know what an
 *  error of Temporal means, and with that error otherwise. */
export interface Run<W extends Workflow> {
  readonly workflowId: string;
  /** What Temporal itself knows of the run; that needs no worker. Undefined: Temporal remembers no such run. */
  find(options?: CallOptions): Promise<FoundRun | undefined>;
  /** Needs a worker, but no open run. */
  query<Answer>(definition: QueryDefinition<Answer> | string, options?: CallOptions): Promise<Answer>;
  /** The run carries the update out once, however often this process must send it. `AlreadyEnded`: the run takes none any more. */
  update<Answer, Args extends unknown[]>(
    definition: UpdateDefinition<Answer, Args> | string,
    args: Args,
    options?: CallOptions & { updateId?: string },
  ): Promise<Answer>;
  /** Needs no worker. False: there is no open run to take it, and `closed` says why. */
  signal<Argument>(
    definition: SignalDefinition<[Argument]> | string,
    argument: Argument,
    options?: CallOptions,
  ): Promise<boolean>;
  /** Why a run takes no messages: `AlreadyEnded`, or `NotFound`. To a message the server answers both alike. */
  closed(options?: CallOptions): Promise<FaretrailClientError>;
  /** Waits for the end. */
  result(options?: CallOptions): Promise<WorkflowResultType<W>>;
}

/** A run as Temporal describes it. */
export type FoundRun = WorkflowExecutionDescription &
  RunTimes & { /** Changes with every event of the run. */ version: string };

/** How a run stands and since when. */
export interface RunTimes {
  /** Temporal's word in lower case: running, completed, failed, cancelled, terminated, timed out. */
  state: string;
  isOpen: boolean;
  startedAt: string;
  endedAt: string | null;
}

/** Reads a description, or an entry of a list. */
export const toRunTimes = ({
  status,
  startTime,
  closeTime,
}: Pick<WorkflowExecutionDescription, 'status' | 'startTime' | 'closeTime'>): RunTimes => ({
  state: status.name.toLowerCase().replaceAll('_', ' '),
  isOpen: status.name === 'RUNNING' || status.name === 'PAUSED',
  startedAt: startTime.toISOString(),
  endedAt: closeTime?.toISOString() ?? null,
});

/** The newest run with this workflow id and those it continues as; with `runId` that run alone. */
export function runOf<W extends Workflow>(client: Client, workflowId: string, runId?: string): Run<W> {
  const handle = client.workflow.getHandle<W>(workflowId, runId, { followRuns: runId === undefined });
  const inTime = async <T>({ withinMs }: CallOptions, call: () => Promise<T>): Promise<T> => {
    try {
      return await (withinMs === undefined ? call() : client.withDeadline(Date.now() + withinMs, call));
    } catch (error) {
      throw toClientError(error, workflowId);
    }
  };
  return {
    workflowId,
    find: (options = {}) => inTime(options, () => describe(handle)),
    query: (definition, options = {}) => inTime(options, () => repeatWhenLost(() => handle.query(definition))),
    update<Answer, Args extends unknown[]>(
      definition: UpdateDefinition<Answer, Args> | string,
      args: Args,
      { updateId = randomUUID(), ...options }: CallOptions & { updateId?: string } = {},
    ) {
      const name = typeof definition === 'string' ? definition : definition.name;
      const send = () => handle.executeUpdate<Answer, [unknown, ...unknown[]]>(name, { args: args as never, updateId });
      return inTime(options, async () => {
        const done = await orUndefined(repeatWhenLost(send).then((answer) => ({ answer })));
        if (!done) throw await whyClosed(handle);
        return done.answer;
      });
    },
    signal: (definition, argument, options = {}) =>
      inTime(options, async () => {
        const sent = handle.signal(definition, argument).then(() => true);
        return (await orUndefined(sent)) ?? false;
      }),
    closed: (options = {}) => inTime(options, () => whyClosed(handle)),
    result: (options = {}) => inTime(options, () => handle.result()),
  };
}

async function describe(handle: WorkflowHandle): Promise<FoundRun | undefined> {
  const found = await orUndefined(handle.describe());
  return found && { ...found, ...toRunTimes(found), version: `${found.runId}/${found.historyLength}` };
}

async function whyClosed(handle: WorkflowHandle): Promise<FaretrailClientError> {
  const { workflowId } = handle;
  if ((await describe(handle)) === undefined) return notFound(workflowId);
  return new FaretrailClientError('AlreadyEnded', `${workflowId} has ended; its result tells how`);
}

/** Undefined where the server finds no run, or for a message no open one. */
async function orUndefined<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Undefined: a run with this id has ended, and its start options allow no other. */
export async function unlessEnded<T>(start: Promise<T>): Promise<{ answer: T } | undefined> {
  try {
    return { answer: await start };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

const failedPrecondition = 9; // gRPC
/** The server's own: a worker has answered the task that carried the update without a word about it. */
const unprocessed = 'UnprocessedUpdate';
/** The SDK's own, which has no type to tell it by: the run has failed before it took messages, since its input was wrong. */
const unheard = 'No registered handler for update';
const tries = 5;
const pauseMs = 200;

/**
 * Sends an update again that the server turned away before the run has seen it: when something happens to a run in the very
 * moment in which it ends or continues as new, or when its worker dies, the server takes that step back. Also a query that
 * a worker turned away, since it came ahead of a task.
 */
export async function repeatWhenLost<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (let left = tries; ; left -= 1) {
    try {
      return await send();
    } catch (error) {
      if (left === 1 || !isLost(error)) throw error;
      await sleep(pauseMs);
    }
  }
}

function isLost(error: unknown): boolean {
  if (error instanceof WorkflowUpdateFailedError) {
    const { cause } = error;
    if (!(cause instanceof ApplicationFailure)) return false;
    return cause.type === unprocessed || cause.message.startsWith(unheard);
  }
  if (error instanceof QueryNotRegisteredError) return error.message.includes(askedAhead);
  return grpcErrorOf(error)?.code === failedPrecondition;
}
