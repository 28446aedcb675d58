import type { Client } from '@temporalio/client';
import type { z } from 'zod';
import { BusinessCallInputShape, BusinessCallResultShape } from '../contracts/call-shapes.js';
import { parseBusinessCallInput } from '../domain/business-call-input.js';
import { businessCallStart } from '../temporal/business-call-start.js';
import type { businessCall } from '../workflows/business-call.js';
import { runOf, startOnce } from './run.js';
import { toInput } from './shapes.js';

/** What one business operation is called with. */
export type CallInput = z.input<typeof BusinessCallInputShape>;

/** What it answered. */
export type CallResult = z.output<typeof BusinessCallResultShape>;

/** Carries one business operation to its end. The same key gives the same answer, and never a second effect. */
export async function callOnce(client: Client, taskQueue: string, given: CallInput): Promise<CallResult> {
  const start = businessCallStart(parseBusinessCallInput(toInput(BusinessCallInputShape, given)), taskQueue);
  await startOnce(() => client.workflow.start<typeof businessCall>('businessCall', start));
  return await runOf<typeof businessCall>(client, start.workflowId).result(BusinessCallResultShape);
}
