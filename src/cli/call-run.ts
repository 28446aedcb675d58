import { WorkflowExecutionAlreadyStartedError, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { BusinessCallInput, BusinessCallResult } from '../domain/business-call.js';
import { businessCallId } from '../domain/workflow-ids.js';
import { businessCallStart } from '../temporal/business-call-start.js';
import type { businessCall } from '../workflows/business-call.js';
import { RunFailed, toRunFailure } from './cli-failure.js';
import { callTimeoutMs, type Session } from './command-context.js';

/** What the call of this key was when it was asked for. */
export type CallStart = 'started' | 'alreadyRunning' | 'alreadyEnded';

/** Asks for a call; a key that was used before starts nothing. */
export async function startCall(session: Session, input: BusinessCallInput): Promise<CallStart> {
  const { client, config, within } = session;
  const isThere = await hasRun(session, input); // only for the wording: the start itself is idempotent
  try {
    await within(callTimeoutMs, () =>
      client.workflow.start<typeof businessCall>('businessCall', businessCallStart(input, config.taskQueue)),
    );
    return isThere ? 'alreadyRunning' : 'started';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'alreadyEnded';
    throw error;
  }
}

async function hasRun({ client, within }: Session, input: BusinessCallInput): Promise<boolean> {
  try {
    await within(callTimeoutMs, () => client.workflow.getHandle(businessCallId(input)).describe());
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Waits for the end of the call: its own limits end it. Throws `RunFailed` with the words of the service beside ours. */
export async function awaitCall({ client }: Session, input: BusinessCallInput): Promise<BusinessCallResult> {
  try {
    return await client.workflow.getHandle<typeof businessCall>(businessCallId(input)).result();
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { code, message } = toRunFailure(error.cause);
    throw new RunFailed({
      code,
      message: [message, wordsOfService(error.cause)].filter((part) => part !== '').join(' '),
    });
  }
}

/** What the service said beside the failure; empty where it said nothing. */
export function wordsOfService(cause: unknown): string {
  const [said] = (cause instanceof ApplicationFailure && cause.details) || [];
  const message = typeof said === 'object' && said !== null && 'message' in said ? said.message : undefined;
  return typeof message === 'string' ? `The service says: "${message}"` : '';
}
