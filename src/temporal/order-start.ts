import type { FollowOrderInput } from '../domain/follow-input.js';
import { followOrderId } from '../domain/workflow-ids.js';
import { singleRunStart } from './single-run-start.js';

/** Options of a client that starts `followOrder`, or signals it with a start: never a second run of a finished order (I5). */
export const orderStart = (input: FollowOrderInput, taskQueue: string) =>
  singleRunStart({
    workflowId: followOrderId(input),
    taskQueue,
    input,
    summary: `Order ${input.orderId} of account ${input.account}`,
  });
