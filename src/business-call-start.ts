import type { BusinessCallInput } from './domain/business-call.js';
import { businessCallId } from './domain/workflow-ids.js';

/** Options of a client that starts `businessCall`: one key is one call for ever, even when it failed, so that a key whose
 *  outcome nobody knows can never make a second effect. */
export const businessCallStart = (input: BusinessCallInput, taskQueue: string) => ({
  workflowId: businessCallId(input),
  taskQueue,
  args: [input] as [BusinessCallInput],
  workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  staticSummary: `${input.operation} of account ${input.account}`,
});
