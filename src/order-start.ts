import type { FollowOrderInput } from './domain/follow-input.js';
import { followOrderId } from './domain/workflow-ids.js';

/** Options of a client that starts `followOrder`, or signals it with a start: never a second run of a finished order (I5). */
export const orderStart = (input: FollowOrderInput, taskQueue: string) => ({
  workflowId: followOrderId(input),
  taskQueue,
  args: [input] as [FollowOrderInput],
  workflowIdReusePolicy: 'REJECT_DUPLICATE' as const,
  workflowIdConflictPolicy: 'USE_EXISTING' as const,
  staticSummary: `Order ${input.orderId} of account ${input.account}`,
});
