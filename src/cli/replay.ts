import { InvalidInput } from '../domain/errors.js';
import { quote } from '../domain/search-attribute-names.js';
import { isGrpc } from '../temporal/run-errors.js';
import { checked } from './arguments.js';
import { type AddCommand, addCommand, createProgressNote, reading, type Session } from './command.js';
import { CliFailure, exitCodes } from './failure.js';
import { type Paint, plain } from './text.js';

const help = `
Replays the histories of running runs on the workflows of this release, and
changes nothing. Run it with the new release before its workers start: a run
that does not replay would stop there. It needs no worker; where payloads are
encrypted, it needs their keys. Ends with 1 if a run does not replay.
--query takes a list filter of Temporal in place of all that runs.`;

const examples = ['', `--query "WorkflowType = 'requestRide' AND ExecutionStatus = 'Running'" --json`];

/** `replay`: do the runs that Temporal holds go on with the workflows of this release? */
export const addReplay: AddCommand = (program, run) => {
  const does = 'replay live runs on the workflows of this release';
  addCommand(program, 'replay', { does, examples, more: help })
    .option('--query <filter>', 'which runs; default: all that run', checked(toQuery))
    .action(run(reading(({ query }: { query?: string }) => query, replay)));
};

function toQuery(text: string): string {
  if (text.trim() === '') throw new InvalidInput('--query: must be a list filter of Temporal');
  return text;
}

const mostShown = 100;

interface Unreplayed {
  workflowId: string;
  runId: string;
  error: string;
}

async function replay(session: Session, query: string | undefined): Promise<number> {
  const { client, config } = session;
  const { replayRuns } = await import('../temporal/replays.js'); // loads the SDK's worker
  const filter = query ?? `TaskQueue = ${quote(config.taskQueue)} AND ExecutionStatus = 'Running'`;
  const failed: Unreplayed[] = [];
  let replayed = 0;
  const noteSometimes = createProgressNote(session);
  try {
    for await (const { error, ...run } of replayRuns(client, filter, config.payloads)) {
      replayed += 1;
      if (error !== null) failed.push({ ...run, error });
      noteSometimes(() => `${replayed} replayed, ${failed.length} do not`);
    }
  } catch (error) {
    if (!isGrpc(error, 'INVALID_ARGUMENT')) throw error;
    throw new CliFailure('FilterRefused', `Temporal refuses the filter; correct --query: ${filter}`, { cause: error });
  }
  session.tell({ replayed, failed }, replayText(replayed, failed, session.paint));
  return failed.length === 0 ? exitCodes.done : exitCodes.failed;
}

function replayText(replayed: number, failed: readonly Unreplayed[], paint: Paint): string {
  const head = paint(
    failed.length === 0 ? 'good' : 'bad',
    failed.length === 0 ? `All of ${replayed} runs replay.` : `${failed.length} of ${replayed} runs do not replay:`,
  );
  const lines = failed.slice(0, mostShown).map(({ workflowId, error }) => `${plain(workflowId)}: ${plain(error)}`);
  const more = failed.length > mostShown ? [`and ${failed.length - mostShown} more; --json lists all`] : [];
  return [head, ...lines, ...more].join('\n');
}
