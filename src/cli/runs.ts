import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AskOptions, OrderTrail } from '../client/index.js';
import { failureBehind, hasCode, isGrpc, notFound } from '../temporal/run-errors.js';
import { type FoundRun, type HistoryEvents, runOf } from '../temporal/runs.js';
import { followRequestedSignal } from '../workflows/messages.js';
import { callTimeoutMs, queryTimeoutMs, type Session } from './command.js';
import { CliFailure, exitCodes, RunFailed, type RunFailure, toRunFailure } from './failure.js';
import { judgeWorker } from './processes.js';
import { paint, plain, utc } from './text.js';

// What commands do with one run: show it, tell who decided what about it, watch it, send it an update.

/** A run, and how to ask it. */
export interface AskedRun<Standing, Result> {
  /** What Temporal itself knows. Needs no worker and no task of the run. Throws `CliFailure` where it knows no such run. */
  find(): Promise<FoundRun>;
  /** What the open run shows. */
  ask(inTime: AskOptions): Promise<Standing>;
  /** How it ended. */
  result(): Promise<Result>;
}

/** A run with what it shows (open; null: no worker answered), its result or its failure (ended). */
export interface ReadRun<Standing, Result> {
  found: FoundRun;
  standing: Standing | null;
  result: Result | null;
  failure: RunFailure | null;
}

/** A run, and how a command shows it. */
export interface ShownRun<Standing, Result> extends AskedRun<Standing, Result> {
  /** Its own part of the JSON. */
  toJson(run: ReadRun<Standing, Result>): object;
  /** What it shows, or how it ended; null where neither is known. */
  toText(run: ReadRun<Standing, Result>): string | null;
  /** What Temporal itself knows of it. */
  knownText(found: FoundRun): string;
}

/** Asks a run. Whatever goes wrong with the question, the rest is still worth showing; so a missing worker is no error. */
async function readRun<Standing, Result>(
  { inTime }: Session,
  { ask, result }: AskedRun<Standing, Result>,
  found: FoundRun,
): Promise<ReadRun<Standing, Result>> {
  const run = { found, standing: null, result: null, failure: null };
  if (found.isOpen) return { ...run, standing: await ask({ withinMs: queryTimeoutMs }).catch(() => null) };
  try {
    return { ...run, result: await inTime(result) };
  } catch (error) {
    const failure = failureBehind(error);
    if (!failure) throw error;
    return { ...run, failure: toRunFailure(failure) };
  }
}

/** Shows a run, and who decided what about it. */
export async function showRun(session: Session, shown: ShownRun<unknown, unknown>): Promise<number> {
  const { json, text, run } = await viewRun(session, shown);
  const decisions = await readDecisions(session, run.found.workflowId).catch(() => null); // null: the history cannot be read
  session.tell({ ...json, decisions }, `${text}${decisionsText(decisions ?? [])}`);
  return exitCodes.done;
}

/** The run as JSON and as text: what it shows, else what Temporal knows and why there is no more. */
export async function viewRun<Standing, Result>(session: Session, shown: ShownRun<Standing, Result>) {
  const found = await shown.find();
  const run = await readRun(session, shown, found);
  const { failure } = run;
  const { state, isOpen, startedAt, endedAt, workflowId } = found;
  const json = { workflowId, state, startedAt, endedAt, ...shown.toJson(run), failure };
  const when = isOpen ? `since ${utc(startedAt)} UTC` : `at ${utc(endedAt)} UTC`;
  const line = paint('faint', `${plain(workflowId)}: ${state} ${when}`);
  const text = shown.toText(run);
  if (text !== null) return { run, json, text: `${text}\n\n${line}` };
  const why = failure
    ? `${failure.code}: ${plain(failure.message)}`
    : 'No worker answered, so this is what Temporal itself knows. To see more, start a worker: npm run worker';
  return { run, json, text: [shown.knownText(found), line, '', paint('bad', why)].join('\n') };
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

type HistoryEvent = HistoryEvents[number];

/** Earlier runs are read as far back as this. */
const mostRuns = 10;

/** Who decided what about the run of this id and the runs that it continues as new, oldest first. Needs no worker and no payload key. */
export async function readDecisions({ client }: Pick<Session, 'client'>, workflowId: string): Promise<Decision[]> {
  const decisions: Decision[] = [];
  let runId: string | undefined;
  for (let runs = 0; runs < mostRuns; runs += 1) {
    const events = await runOf(client, workflowId, runId).events({ withinMs: callTimeoutMs });
    if (!events) throw notFound(workflowId);
    decisions.unshift(...events.flatMap(toDecision));
    runId = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? undefined;
    if (!runId) break;
  }
  return decisions;
}

function toDecision(event: HistoryEvent): Decision[] {
  const [what, by] = whatAndWho(event);
  if (!what || !by) return [];
  const { seconds, nanos } = event.eventTime ?? {};
  const at = new Date(Number(seconds ?? 0) * 1_000 + (nanos ?? 0) / 1e6).toISOString();
  return [{ at, what, by, principal: event.principal?.name || null }];
}

function whatAndWho({
  workflowExecutionStartedEventAttributes: started,
  workflowExecutionUpdateAcceptedEventAttributes: accepted,
  workflowExecutionSignaledEventAttributes: signal,
  workflowExecutionCancelRequestedEventAttributes: cancelled,
  workflowExecutionTerminatedEventAttributes: terminated,
}: HistoryEvent): (string | null | undefined)[] {
  if (started) return ['start', started.identity]; // a run that continues another has no identity
  const { input, meta } = accepted?.acceptedRequest ?? {};
  if (input) return [input.name, meta?.identity];
  if (signal?.signalName === followRequestedSignal.name) return [signal.signalName, signal.identity];
  if (cancelled) return ['cancel', cancelled.identity];
  return terminated ? ['terminate', terminated.identity] : [];
}

/** A line for each decision. */
export function decisionsText(decisions: readonly Decision[]): string {
  const lines = decisions.map(({ at, what, by, principal }) => {
    const proved = principal === null ? '' : ` (proved: ${plain(principal)})`;
    return paint('faint', `${utc(at)}  ${plain(what)} by ${plain(by)}${proved}`);
  });
  return ['', ...lines].join('\n');
}

/** Why a run needs a person, and since when. */
export const attentionText = ({ code, message, since }: NonNullable<OrderTrail['attention']>): string =>
  `${paint('bad', code)} since ${utc(since)} UTC: ${plain(message)}`;

/** How long a person waits for the answer of a run. */
const answerWithinMs = 30_000;

/** An update of a run, and how to show its result. */
interface Update<Answer> {
  /** As it was a moment ago. */
  found: FoundRun;
  send(inTime: AskOptions): Promise<Answer>;
  tell(answer: Answer): void;
  /** Shows a run that has ended, and gives the exit code. */
  tellEnded(): Promise<number>;
}

/** Sends an update to an open run and shows the result. Throws `CliFailure` NoWorker and NoAnswer. */
export async function sendUpdate<Answer>(session: Session, update: Update<Answer>): Promise<number> {
  if (!update.found.isOpen) return await update.tellEnded();
  // Without a worker the server would keep the update for an unknown time, and a later worker would carry it out.
  const worker = await judgeWorker(session);
  if (worker.result === 'failed') throw new CliFailure('NoWorker', `nothing was sent: ${worker.message}`);
  try {
    update.tell(await update.send({ withinMs: answerWithinMs }));
    return exitCodes.done;
  } catch (error) {
    if (hasCode(error, 'AlreadyEnded', 'NotFound')) return await update.tellEnded(); // ended meanwhile
    if (!hasCode(error, 'NoAnswer')) throw error;
    const message = `no answer within ${answerWithinMs / 1_000} s, but the run has the request and goes on`;
    throw new CliFailure('NoAnswer', `${message}; see what holds it up: faretrail attention`);
  }
}

/** How to watch a run. */
interface Watch<Standing, Result> {
  /** What to say when a person interrupts the command. */
  farewell: string;
  /** Prints what is new. */
  print(run: ReadRun<Standing, Result>): void;
}

const noWorker = 'no worker answers; changes appear once one runs: npm run worker';
const noTemporal = 'Temporal cannot be reached; trying again';
const lookEveryMs = 1_000;
const askAgainMs = 5_000;

/** Prints each change until the run ends or a person interrupts the command, and gives the exit code. Throws `RunFailed`. */
export async function watchRun<Standing, Result>(
  session: Session,
  run: AskedRun<Standing, Result>,
  { farewell, print }: Watch<Standing, Result>,
): Promise<number> {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal); // every call to Temporal listens
  const unlisten = session.onInterrupt(() => stop.abort());
  try {
    await session.connection.withAbortSignal(stop.signal, () => printChanges(session, run, print, stop.signal));
    return exitCodes.done;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    session.note(farewell);
    return exitCodes.interrupted;
  } finally {
    unlisten();
  }
}

async function printChanges<Standing, Result>(
  session: Session,
  run: AskedRun<Standing, Result>,
  print: Watch<Standing, Result>['print'],
  signal: AbortSignal,
): Promise<void> {
  let version: string | undefined;
  let askFrom = 0;
  let said = '';
  for (;;) {
    let trouble = '';
    const found = await unlessTransient(run.find);
    if (found === undefined) {
      trouble = noTemporal;
    } else if (!found.isOpen || (found.version !== version && Date.now() >= askFrom)) {
      const shown = await unlessTransient(() => readRun(session, run, found));
      if (shown?.failure) throw new RunFailed(shown.failure.code, shown.failure.message);
      if (shown === undefined || (found.isOpen && shown.standing === null)) {
        askFrom = Date.now() + askAgainMs;
        trouble = shown ? noWorker : noTemporal;
      } else {
        said = '';
        version = found.version;
        print(shown);
        if (!found.isOpen) return;
      }
    }
    signal.throwIfAborted(); // an interrupt fails the calls, too
    if (trouble !== '' && trouble !== said) session.note(paint('bad', trouble));
    said = trouble || said;
    await sleep(lookEveryMs, undefined, { signal });
  }
}

/** Undefined while Temporal cannot be reached: the run goes on, so the command waits. */
async function unlessTransient<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (isGrpc(error, 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'UNAVAILABLE')) return undefined;
    throw error;
  }
}
