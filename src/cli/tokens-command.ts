import { type WorkflowExecutionInfo, WorkflowNotFoundError } from '@temporalio/client';
import type { Command } from 'commander';
import { publishedLease } from '../domain/published.js';
import { fromAccessTokenId } from '../domain/workflow-ids.js';
import { exitCodes } from './cli-failure.js';
import { callTimeoutMs, type RunCommand, type Session, withSession } from './command-context.js';
import { toRunTimes } from './order-run.js';
import { type ListedToken, tokensText, toListedToken } from './token-view.js';
import { listRuns } from './visibility.js';

const limit = 200;
/** Calls at a time; each is a small read at the server. */
const batch = 10;

const help = `
States: serving; renewal due (it still serves, the next call renews it); expired (nobody has asked
since); failed: <why> (asked again later by itself); waiting (no answer yet); ended (two idle
lifetimes, the next call starts anew). Neither a token nor a sealed one is ever shown.

Example:
  faretrail tokens`;

/** `tokens`: how the fleet's access tokens stand. */
export function addTokensCommand(program: Command, run: RunCommand): void {
  program
    .command('tokens')
    .description("show how the fleet's access tokens stand")
    .addHelpText('after', help)
    .action(
      run(async (context) => {
        return await withSession(context, async (session) => {
          const query = "WorkflowType = 'accessToken' AND ExecutionStatus != 'ContinuedAsNew'";
          const { found, hasMore } = await listRuns(session, query, limit);
          const tokens = await readTokens(session, newestOfEach(found));
          context.tell({ tokens, hasMore }, tokensText(tokens, context.paint));
          if (hasMore) context.note(`Only the first ${limit} runs are shown; those that go on come first.`);
          return exitCodes.done;
        });
      }),
    );
}

/** The list has open runs first, then the last that ended. */
function newestOfEach(found: readonly WorkflowExecutionInfo[]): string[] {
  return [...new Set(found.map(({ workflowId }) => workflowId))];
}

async function readTokens(session: Session, workflowIds: readonly string[]): Promise<ListedToken[]> {
  const tokens: ListedToken[] = [];
  for (let from = 0; from < workflowIds.length; from += batch) {
    const some = workflowIds.slice(from, from + batch).map((workflowId) => readToken(session, workflowId));
    tokens.push(...(await Promise.all(some)).flat());
  }
  return tokens;
}

async function readToken({ client, within }: Session, workflowId: string): Promise<ListedToken[]> {
  const key = fromAccessTokenId(workflowId);
  if (!key) return [];
  try {
    const found = await within(callTimeoutMs, () => client.workflow.getHandle(workflowId).describe());
    const lease = publishedLease(found.memo);
    return [toListedToken(key, lease, toRunTimes(found), Date.now())];
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return []; // the list trails behind
    throw error;
  }
}
