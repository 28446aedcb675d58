import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ActivityNotFoundError,
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
import { ApplicationFailure, type Payload } from '@temporalio/common';
import { deadlineIn } from '../clock.js';
import { askedAhead, notRead } from '../domain/errors.js';
import { earlierId } from '../domain/workflow-ids.js';
import { followRequestedSignal } from '../workflows/messages.js';
import { FaretrailClientError, hasCode, isGrpc, notFound, toClientError } from './run-errors.js';

// The one driver of runs: the typed client, the commands and the ports of the activities use it to find, query
// and await runs, to send messages to them, and to tell who decided what. `starts.ts` starts them.

/** How long a call may take. Without `withinMs` the caller has to set a deadline, since Temporal's client has none of its own. */
export interface CallOptions {
  withinMs?: number;
}

/** The events of a run, oldest first. */
export type HistoryEvents = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>;

/** Milliseconds since the epoch of a time that the server sent; 0 where it sent none. */
export const msOf = (time: HistoryEvents[number]['eventTime']): number =>
  Number(time?.seconds ?? 0) * 1_000 + Number(time?.nanos ?? 0) / 1_000_000;

/** A run as Temporal describes it. */
export type FoundRun = WorkflowExecutionDescription &
  RunTimes & { /** Changes with every event of the run. */ version: string };

/** The state of a run, and its times. */
export interface RunTimes {
  /** Temporal's word in lower case: running, completed, failed, cancelled, terminated, timed out. */
  state: string;
  isOpen: boolean;
  startedAt: string;
  endedAt: string | null;
}

/** Takes a description, or an entry of a list. */
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

/**
 * The newest run with this workflow id, and the runs that it continues as new; with `runId` only that run. It need not exist. Every call
 * rejects with `FaretrailClientError` where we know what an error of Temporal means, otherwise with that error.
 */
export function runOf<W extends Workflow>(client: Client, workflowId: string, runId?: string): RunDriver<W> {
  const run = driverOf<W>(client, workflowId, runId);
  const earlier = earlierId(workflowId);
  return earlier === undefined ? run : orElse(run, driverOf<W>(client, earlier, runId));
}

/** Finds a run, asks it and sends messages to it. */
type RunDriver<W extends Workflow> = ReturnType<typeof driverOf<W>>;

function driverOf<W extends Workflow>(client: Client, workflowId: string, runId?: string) {
  const handle = client.workflow.getHandle<W>(workflowId, runId, { followRuns: runId === undefined });
  const inTime = async <T>({ withinMs }: CallOptions, call: () => Promise<T>): Promise<T> => {
    try {
      return await (withinMs === undefined ? call() : client.withDeadline(deadlineIn(withinMs), call));
    } catch (error) {
      throw toClientError(error, workflowId);
    }
  };
  return {
    /** What Temporal itself knows of the run; that needs no worker. Undefined: Temporal remembers no such run. */
    find: (options: CallOptions = {}) => inTime(options, () => describe(handle)),
    /** Needs a worker. The run may have ended. */
    query: <Answer>(definition: QueryDefinition<Answer> | string, options: CallOptions = {}): Promise<Answer> =>
      inTime(options, () => repeatWhenLost(() => handle.query(definition))),
    /** The run carries out the update once, even when this process has to send it again. `AlreadyEnded`: the run takes no more updates. */
    update<Answer, Args extends unknown[]>(
      definition: UpdateDefinition<Answer, Args> | string,
      args: Args,
      { updateId = randomUUID(), ...options }: CallOptions & { updateId?: string } = {},
    ): Promise<Answer> {
      const name = typeof definition === 'string' ? definition : definition.name;
      const send = (id: string) =>
        handle.executeUpdate<Answer, [unknown, ...unknown[]]>(name, { args: args as never, updateId: id });
      const ask = () => askNextRun((id) => repeatWhenLost(() => send(id)), updateId);
      return inTime(options, () => askAfterReset(handle, ask));
    },
    /** Needs no worker. False when there is no open run; `closed` says why. */
    signal: <Argument>(
      definition: SignalDefinition<[Argument]> | string,
      argument: Argument,
      options: CallOptions = {},
    ): Promise<boolean> =>
      inTime(options, async () => {
        const sent = handle.signal(definition, argument).then(() => true);
        return (await orUndefined(sent)) ?? false;
      }),
    /** Why a run takes no messages: `AlreadyEnded` or `NotFound`. The server's answer to a message does not tell them apart. */
    closed: (options: CallOptions = {}) => inTime(options, () => whyClosed(handle)),
    /** The history, not decrypted. Undefined: Temporal remembers no such run. */
    events: (options: CallOptions = {}) =>
      inTime(options, () => orUndefined(handle.fetchHistory().then(({ events }) => events ?? []))),
    /** Waits for the end. */
    result: (options: CallOptions = {}): Promise<WorkflowResultType<W>> => inTime(options, () => handle.result()),
  };
}

/** The run with another id where there is none with the first. */
function orElse<W extends Workflow>(run: RunDriver<W>, other: RunDriver<W>): RunDriver<W> {
  const first = async <T>(act: (one: RunDriver<W>) => Promise<T>): Promise<T> => {
    try {
      return await act(run);
    } catch (error) {
      if (!hasCode(error, 'NotFound')) throw error;
      return await act(other).catch((more: unknown) => {
        throw hasCode(more, 'NotFound') ? error : more;
      });
    }
  };
  return {
    find: async (options) => (await run.find(options)) ?? (await other.find(options)),
    query: (definition, options) => first((one) => one.query(definition, options)),
    update: (definition, args, options) => first((one) => one.update(definition, args, options)),
    signal: async (...sent) => (await run.signal(...sent)) || (await other.signal(...sent)),
    async closed(options) {
      const why = await run.closed(options);
      return (await other.find(options)) ? await other.closed(options) : why;
    },
    events: async (options) => (await run.events(options)) ?? (await other.events(options)),
    result: (options) => first((one) => one.result(options)),
  };
}

/** Completes an activity that its worker has left open. False: the run has no such activity. */
export async function completeActivity(
  client: Client,
  activity: { workflowId: string; activityId: string },
  result: unknown,
  { withinMs }: Required<CallOptions>,
): Promise<boolean> {
  try {
    await client.withDeadline(deadlineIn(withinMs), () => client.activity.complete(activity, result));
    return true;
  } catch (error) {
    if (error instanceof ActivityNotFoundError) return false;
    throw error;
  }
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

/** When an operator resets a run, the server finds no update that it had just sent to the run's former execution. */
async function askAfterReset<Answer>(handle: WorkflowHandle, ask: () => Promise<Answer>): Promise<Answer> {
  for (let left = tries; ; left -= 1) {
    const done = await orUndefined(ask().then((answer) => ({ answer })));
    if (done) return done.answer;
    const isOpen = left > 1 && (await describe(handle))?.isOpen;
    if (!isOpen) throw await whyClosed(handle);
    await sleep(pauseMs);
  }
}

/** Undefined where the server finds no run, or no open run that could take a message. */
async function orUndefined<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** What a person or a program did to a run, as Temporal recorded it. */
export interface Decision {
  /** ISO 8601 UTC. */
  at: string;
  /** `start`, `cancel`, `terminate`, or the name of the update or signal. */
  what: string;
  /** The identity that the caller's Temporal client gave, which nothing proves. */
  by: string;
  /** Whom the server's authorizer has seen; null unless the server keeps that. */
  principal: string | null;
}

/** Earlier runs are read as far back as this. */
const mostRuns = 10;
const historyWithinMs = 10_000;

/** Who decided what about the run of this id and the runs that it continues as new, oldest first. Needs no worker and no payload key. */
export async function readDecisions({ client }: { client: Client }, workflowId: string): Promise<Decision[]> {
  const decisions: Decision[] = [];
  let runId: string | undefined;
  for (let runs = 0; runs < mostRuns; runs += 1) {
    const events = await runOf(client, workflowId, runId).events({ withinMs: historyWithinMs });
    if (!events) throw notFound(workflowId);
    decisions.unshift(...events.flatMap(toDecision));
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? undefined;
    if (!runId) break;
  }
  return decisions;
}

function toDecision(event: HistoryEvents[number]): Decision[] {
  const [what, by] = whatAndWho(event);
  if (!what || !by) return [];
  const at = new Date(msOf(event.eventTime)).toISOString();
  return [{ at, what, by, principal: event.principal?.name || null }];
}

function whatAndWho({
  workflowExecutionStartedEventAttributes: started,
  workflowExecutionUpdateAcceptedEventAttributes: accepted,
  workflowExecutionSignaledEventAttributes: signal,
  workflowExecutionCancelRequestedEventAttributes: cancelled,
  workflowExecutionTerminatedEventAttributes: terminated,
}: HistoryEvents[number]): (string | null | undefined)[] {
  if (started) return ['start', started.identity]; // a run that continues another has no identity
  const { input, meta } = accepted?.acceptedRequest ?? {};
  if (input) return [input.name, meta?.identity];
  if (signal?.signalName === followRequestedSignal.name) return [signal.signalName, signal.identity];
  if (cancelled) return ['cancel', cancelled.identity];
  return terminated ? ['terminate', terminated.identity] : [];
}

/** Decodes and decrypts payloads, such as the arguments in a history, with the converter of this client. Rejects where that fails. */
export async function decodeAll(client: Client, payloads: Payload[] | null | undefined): Promise<unknown[]> {
  const { payloadConverter, payloadCodecs } = client.options.loadedDataConverter;
  let decoded = payloads ?? [];
  for (const codec of payloadCodecs) decoded = await codec.decode(decoded);
  return decoded.map((payload) => payloadConverter.fromPayload(payload));
}

/** Undefined: a run with this id has ended, and the options of the start allow no other run. */
export async function unlessEnded<T>(start: Promise<T>): Promise<{ answer: T } | undefined> {
  try {
    return { answer: await start };
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

/** The server's failure type: a worker completed the task that carried the update without answering the update. */
const unprocessed = 'UnprocessedUpdate';
/** The SDK's message, which comes without a failure type: the run failed before it set its handlers, since its input was wrong. */
const unheard = 'No registered handler for update';
const tries = 5;
const pauseMs = 200;

/**
 * Sends an update again when it was rejected before the run has seen it: the server discards a task when a message arrives
 * just as the run ends or continues as new, or when the worker dies. Also repeats a query that a worker refused because it came ahead of
 * a task.
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

/**
 * Resends an update to the next run if a run continued as new before the read that the update asks for. The update id
 * is new, since the old run may still be there and would repeat its answer.
 */
async function askNextRun<Answer>(send: (updateId: string) => Promise<Answer>, updateId: string): Promise<Answer> {
  let id = updateId;
  for (let left = tries; ; left -= 1) {
    try {
      return await send(id);
    } catch (error) {
      if (left === 1 || !(error instanceof WorkflowUpdateFailedError) || !isNotRead(error.cause)) throw error;
      await sleep(pauseMs);
      id = randomUUID();
    }
  }
}

/** With details the read was made, and failed. */
const isNotRead = (cause: unknown): boolean =>
  cause instanceof ApplicationFailure && cause.type === notRead && !cause.details?.length;

function isLost(error: unknown): boolean {
  if (error instanceof WorkflowUpdateFailedError) {
    const { cause } = error;
    if (!(cause instanceof ApplicationFailure)) return false;
    return cause.type === unprocessed || cause.message.startsWith(unheard);
  }
  if (error instanceof QueryNotRegisteredError) return error.message.includes(askedAhead);
  return isGrpc(error, 'FAILED_PRECONDITION');
}
