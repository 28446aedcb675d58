import type { Client } from '@temporalio/client';
import type { ShownReader } from '../activities/index.js';
import { searchAttributeNames } from '../domain/search-attribute-names.js';

/** Temporal's client has no deadline of its own. */
const deadlineMs = 5_000;

/** Reads the search attribute from the run itself, not from visibility, which lags behind. Throws when there is no such run. */
export const createShownReader =
  (client: Client): ShownReader =>
  async ({ workflowId, runId }) => {
    const describe = () => client.workflow.getHandle(workflowId, runId).describe();
    const { searchAttributes, historyLength } = await client.withDeadline(Date.now() + deadlineMs, describe);
    const [status] = searchAttributes[searchAttributeNames.status] ?? [];
    return { status: typeof status === 'string' ? status : null, runLength: historyLength };
  };
