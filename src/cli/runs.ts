import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AskOptions, OrderTrail } from '../client/index.js';
import { monotonicMs } from '../clock.js';
import type { AccountName } from '../domain/keys.js';
import { pausedActivities, pausedText } from '../temporal/paused-activities.js';
import { failureBehind, hasCode, isGrpc } from '../temporal/run-errors.js';
import { type Decision, type FoundRun, readDecisions } from '../temporal/runs.js';
import { judgeWorker } from '../temporal/watches.js';
import { queryTimeoutMs, type Session } from './command.js';
import { CliFailure, exitCodes, RunFailed, type RunFailure, toRunFailure } from './failure.js';
import { paint, plain, utc } from './text.js';

// What commands do with one run: tell that it was started, show it, tell who decided what about it, watch it, send it an update.

/** A warning for each queue that an order of this account needs and no worker polls. */
export async function missingWorkers(session: Session, account: AccountName): Promise<string[]> {
  const found = await Promise.all([judgeWorker(session), judgeWorker(session, account)]);
  return found.flatMap(({ result, message }) => (result === 'ok' ? [] : [message]));
}

/** Tells that a run of this account was started, with warnings about the workers that it needs. */
export async function tellStart(
  session: Session,
  { json, text, account }: { json: object; text: string; account: AccountName },
): Promise<void> {
  const warnings = await missingWorkers(session, account);
  session.tell({ ...json, warnings }, text);
  session.warn(warnings);
}

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
  const paused = isOpen ? pausedActivities(found) : [];
  const json = { workflowId, state, startedAt, endedAt, ...shown.toJson(run), failure, paused };
  const when = isOpen ? `since ${utc(startedAt)} UTC` : `at ${utc(endedAt)} UTC`;
  const pauses = paused.map((one) => paint('bad', plain(pausedText(workflowId, one))));
  const line = [paint('faint', `${plain(workflowId)}: ${state} ${when}`), ...pauses].join('\n');
  const text = shown.toText(run);
  if (text !== null) return { run, json, text: `${text}\n\n${line}` };
  const why = failure
    ? `${failure.code}: ${plain(failure.message)}`
    : 'No worker answered, so this is what Temporal itself knows. To see more, start a worker: npm run worker';
  return { run, json, text: [shown.knownText(found), line, '', paint('bad', why)].join('\n') };
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
  /** Shows the answer, and gives the exit code. */
  tell(answer: Answer): number;
  /** Shows a run that has ended, and gives the exit code. */
  tellEnded(): Promise<number>;
}

/**
 * The text and exit code for the answer to an update. A failure comes first: a command never says "done" without the
 * effect.
 */
export const toldAnswer = (failure: RunFailure | null, text: string): { text: string; exitCode: number } =>
  failure
    ? { text: `${paint('bad', `${failure.code}: ${plain(failure.message)}`)}\n\n${text}`, exitCode: exitCodes.failed }
    : { text, exitCode: exitCodes.done };

/** Sends an update to an open run and shows the result. Throws `CliFailure` NoWorker and NoAnswer. */
export async function sendUpdate<Answer>(session: Session, update: Update<Answer>): Promise<number> {
  if (!update.found.isOpen) return await update.tellEnded();
  // Without a worker the server would keep the update for an unknown time, and a later worker would carry it out.
  const worker = await judgeWorker(session);
  if (worker.result === 'failed') throw new CliFailure('NoWorker', `nothing was sent: ${worker.message}`);
  try {
    const answer = await update.send({ withinMs: answerWithinMs });
    return update.tell(answer);
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
    } else if (!found.isOpen || (found.version !== version && monotonicMs() >= askFrom)) {
      const shown = await unlessTransient(() => readRun(session, run, found));
      if (shown?.failure) throw new RunFailed(shown.failure.code, shown.failure.message);
      if (shown === undefined || (found.isOpen && shown.standing === null)) {
        askFrom = monotonicMs() + askAgainMs;
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
