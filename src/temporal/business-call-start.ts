import type { BusinessCallInput } from '../domain/business-call.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { singleRunStart } from './single-run-start.js';

/** Options of a client that starts `businessCall`: one key is one call for ever, even when it failed, so that a key whose
 *  outcome nobody knows can never make a second effect. */
export const businessCallStart = (input: BusinessCallInput, taskQueue: string) =>
  singleRunStart({
    workflowId: businessCallId(input),
    taskQueue,
    input,
    summary: `${input.operation} of account ${input.account}`,
  });
