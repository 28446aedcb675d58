import type { WorkflowExecutionInfo } from '@temporalio/client';
import { CliFailure, grpcErrorOf } from './cli-failure.js';
import { callTimeoutMs, type Session } from './command-context.js';

const invalidArgument = 3;

/** The first `limit` runs that fit, open ones first, in the server's own order: not every server can sort otherwise. */
export async function listRuns(
  { client, within }: Session,
  query: string,
  limit: number,
): Promise<{ found: WorkflowExecutionInfo[]; hasMore: boolean }> {
  const found: WorkflowExecutionInfo[] = [];
  try {
    await within(callTimeoutMs, async () => {
      for await (const info of client.workflow.list({ query, pageSize: limit + 1 })) {
        found.push(info);
        if (found.length > limit) break;
      }
    });
  } catch (error) {
    const answer = grpcErrorOf(error);
    if (answer?.code !== invalidArgument) throw error;
    throw new CliFailure(
      'SearchAttributesMissing',
      `Temporal refuses the query (${answer.details}); the namespace may lack our search attributes, which a worker adds: faretrail doctor`,
      { cause: error },
    );
  }
  return { found: found.slice(0, limit), hasMore: found.length > limit };
}
