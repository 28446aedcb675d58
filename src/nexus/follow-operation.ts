import { WorkflowNotFoundError } from '@temporalio/client';
import { getClient } from '@temporalio/nexus';
import * as nexus from 'nexus-rpc';
import { InvalidInput } from '../domain/errors.js';
import { type FollowOrderInput, type FollowRequest, parseFollowOrderInput } from '../domain/follow-input.js';
import { toInputObject } from '../domain/input-fields.js';
import { isFollowedAgain } from '../domain/order-end.js';
import type { OrderTrail } from '../domain/trail.js';
import { followOrderId } from '../domain/workflow-ids.js';
import { beginOrder, toFollowRequest } from '../temporal/follow-start.js';
import type { followOrder } from '../workflows/follow-order.js';
import { followRequestedSignal } from '../workflows/follow-order-messages.js';
import { refuseBadInput } from './refusals.js';
import { attach, endOf } from './run-operation.js';

/**
 * Follows an order, and has its trail when it has ended. A signal cannot come with a start that calls back, so it follows the start:
 * if this process dies in between, the server repeats the operation.
 */
export const followOperation = (taskQueue: string): nexus.OperationHandler<unknown, OrderTrail> => ({
  async start(context, given) {
    const { input, again } = refuseBadInput(() => parseFollowing(given));
    const begun = await beginOrder(getClient(), {
      input,
      taskQueue,
      start: (options) => attach<typeof followOrder>(context, 'followOrder', options),
      isStartedAgain: (end) => isFollowedAgain(end, again),
    });
    const workflowId = followOrderId(input);
    if ('stays' in begun) return nexus.HandlerStartOperationResult.sync(await endOf<typeof followOrder>(workflowId));
    const request = toFollowRequest(input);
    if (Object.keys(request).length > 0) await tell(workflowId, request);
    return begun.answer;
  },
  async cancel() {},
});

/** Input of the operation. Throws `InvalidInput`. */
function parseFollowing(given: unknown): { input: FollowOrderInput; again: boolean } {
  const { again, ...input } = toInputObject(given);
  if (again !== undefined && again !== null && typeof again !== 'boolean') {
    throw new InvalidInput('again: must be true or false');
  }
  return { input: parseFollowOrderInput(input), again: again === true };
}

/** The run may have been there already. One that has ended meanwhile has its end to tell. */
async function tell(workflowId: string, request: FollowRequest): Promise<void> {
  try {
    await getClient().workflow.getHandle(workflowId).signal(followRequestedSignal, request);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
