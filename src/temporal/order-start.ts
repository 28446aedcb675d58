import type { FollowOrderInput } from '../domain/follow-input.js';
import { followOrderId } from '../domain/workflow-ids.js';
import type { FollowOrderProgress } from '../workflows/follow-order.js';
import { singleRunStart } from './single-run-start.js';

/** What a client starts `followOrder` with, or signals it with a start. */
export type OrderStart = Omit<ReturnType<typeof orderStart>, 'args' | 'workflowIdReusePolicy'> & {
  args: [FollowOrderInput] | [FollowOrderInput, FollowOrderProgress];
  workflowIdReusePolicy: 'REJECT_DUPLICATE' | 'ALLOW_DUPLICATE' | 'ALLOW_DUPLICATE_FAILED_ONLY';
};

/** Options of a client that starts `followOrder` where no run of the order has ended yet, or joins the one that goes on. */
export const orderStart = (input: FollowOrderInput, taskQueue: string) =>
  singleRunStart({
    workflowId: followOrderId(input),
    taskQueue,
    input,
    summary: `Order ${input.orderId} of account ${input.account}`,
  });

/** The same after a run that ended before its order did: the new one goes on with its timeline. */
export const orderRestart = (
  input: FollowOrderInput,
  taskQueue: string,
  { runId, hasResult }: { runId: string; hasResult: boolean },
): OrderStart => ({
  ...orderStart(input, taskQueue),
  args: [input, { continues: runId }],
  // Another caller may be faster, and then the order may even have ended: what failed may be followed by a success only once.
  workflowIdReusePolicy: hasResult ? 'ALLOW_DUPLICATE' : 'ALLOW_DUPLICATE_FAILED_ONLY',
});
