import { quote } from '../domain/search-attribute-names.js';
import { isGrpc } from '../temporal/run-errors.js';
import { option, textThat } from './arguments.js';
import { type CommandSpec, createProgressNote, inSession, type Session } from './command.js';
import { CliFailure, exitCodes } from './failure.js';
import { firstLines, paint, plain } from './text.js';

const help = `
Replays the histories of running runs on the workflows of this release, and
changes nothing. Run it with the new release before its workers start: a run
that does not replay would stop there. It needs no worker; where payloads are
encrypted, it needs their keys. Ends with 1 if a run does not replay.
--query takes a list filter of Temporal in place of all that runs.`;

const toFilter = textThat((text) => text.trim() !== '', 'a list filter of Temporal');

/** `replay`: do the runs that Temporal holds go on with the workflows of this release? */
export const replayCommand: CommandSpec = {
  form: 'replay',
  does: 'replay live runs on the workflows of this release',
  examples: ['', `--query "WorkflowType = 'requestRide' AND ExecutionStatus = 'Running'" --json`],
  more: help,
  options: [option('--query <filter>', 'which runs; default: all that run', toFilter)],
  act: inSession(replay),
};

const mostShown = 100;

interface Unreplayed {
  workflowId: string;
  runId: string;
  error: string;
}

async function replay(session: Session, { query }: { query?: string }): Promise<number> {
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
  session.tell({ replayed, failed }, replayText(replayed, failed));
  return failed.length === 0 ? exitCodes.done : exitCodes.failed;
}

function replayText(replayed: number, failed: readonly Unreplayed[]): string {
  const head =
    failed.length === 0
      ? paint('good', `All of ${replayed} runs replay.`)
      : paint('bad', `${failed.length} of ${replayed} runs do not replay:`);
  const lines = firstLines(failed, mostShown, ({ workflowId, error }) => `${plain(workflowId)}: ${plain(error)}`);
  return [head, ...lines].join('\n');
}
