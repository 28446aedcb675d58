import { randomUUID } from 'node:crypto';
import {
  type Client,
  type Workflow,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { InvalidInput } from '../domain/errors.js';
import type { Schema } from '../domain/schema.js';
import { repeatWhenLost } from '../temporal/lost-update.js';
import { FaretrailClientError, toClientError } from './errors.js';

/** What a call that waits for an answer may be told. */
export interface AskOptions {
  /** In milliseconds; default 30,000. Then the error `NoAnswer`. */
  withinMs?: number;
}

const defaultWithinMs = 30_000;

/** One run, asked with deadlines: no call of Temporal's client has one of its own, and without a worker nobody answers. */
interface Run<W extends Workflow> {
  /** `question` may be put several times: an update must bear the `updateId`, so that it is carried out once. */
  ask<Answer>(
    schema: Schema<Answer, unknown>,
    question: (handle: WorkflowHandle<W>, updateId: string) => Promise<unknown>,
    options?: AskOptions,
  ): Promise<Answer>;
  /** Waits for the end, however long that takes. */
  result<Answer>(schema: Schema<Answer, unknown>): Promise<Answer>;
}

/** The run with this id, whether it exists or not. */
export function runOf<W extends Workflow>(client: Client, workflowId: string): Run<W> {
  const handle = client.workflow.getHandle<W>(workflowId);
  return {
    async ask(schema, question, { withinMs = defaultWithinMs } = {}) {
      const updateId = randomUUID();
      const ask = async (): Promise<unknown> => {
        try {
          return await repeatWhenLost(() => question(handle, updateId));
        } catch (error) {
          const hasEnded = error instanceof WorkflowNotFoundError && (await isKnown(handle));
          throw hasEnded ? alreadyEnded(workflowId, error) : error;
        }
      };
      try {
        return toAnswer(schema, await client.withDeadline(Date.now() + withinMs, ask));
      } catch (error) {
        throw toClientError(error, workflowId);
      }
    },
    async result(schema) {
      try {
        return toAnswer(schema, await handle.result());
      } catch (error) {
        throw toClientError(error, workflowId);
      }
    },
  };
}

/** Starts a run that may have ended before: then its end is what the caller wanted. */
export async function startOnce(start: () => Promise<unknown>): Promise<void> {
  try {
    await start();
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

const isKnown = (handle: WorkflowHandle): Promise<boolean> =>
  handle.describe().then(
    () => true,
    (error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    },
  );

const alreadyEnded = (workflowId: string, cause: Error): FaretrailClientError =>
  new FaretrailClientError('AlreadyEnded', `${workflowId} has ended; its result tells how`, { cause });

/** Reads what a run answers; fields that a later release adds are left out. Throws `FaretrailClientError`. */
function toAnswer<Answer>(schema: Schema<Answer, unknown>, answer: unknown): Answer {
  try {
    return schema.read(answer, '');
  } catch (cause) {
    const message = `the answer of the run cannot be read: ${cause instanceof InvalidInput ? cause.message : cause}`;
    throw new FaretrailClientError('AnswerUnreadable', message, { cause });
  }
}
