import { randomUUID } from 'node:crypto';
import {
  type Client,
  type Workflow,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowHandle,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { z } from 'zod';
import { InvalidInput } from '../domain/errors.js';
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
  ask<Shape extends z.ZodType>(
    shape: Shape,
    question: (handle: WorkflowHandle<W>, updateId: string) => Promise<unknown>,
    options?: AskOptions,
  ): Promise<z.output<Shape>>;
  /** Waits for the end, however long that takes. */
  result<Shape extends z.ZodType>(shape: Shape): Promise<z.output<Shape>>;
}

/** The run with this id, whether it exists or not. */
export function runOf<W extends Workflow>(client: Client, workflowId: string): Run<W> {
  const handle = client.workflow.getHandle<W>(workflowId);
  return {
    async ask(shape, question, { withinMs = defaultWithinMs } = {}) {
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
        return toAnswer(shape, await client.withDeadline(Date.now() + withinMs, ask));
      } catch (error) {
        throw toClientError(error, workflowId);
      }
    },
    async result(shape) {
      try {
        return toAnswer(shape, await handle.result());
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

/** Reads what a caller gives. Throws `InvalidInput` that names the field, never its value. */
export function toInput<Shape extends z.ZodType>(shape: Shape, given: unknown): z.output<Shape> {
  const read = shape.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new InvalidInput(`${issue?.path.join('.') || 'input'}: ${issue?.message ?? 'cannot be read'}`);
}

/** Reads what a run answers; fields that a later release adds are left out. Throws `FaretrailClientError`. */
function toAnswer<Shape extends z.ZodType>(shape: Shape, answer: unknown): z.output<Shape> {
  const read = shape.safeParse(answer);
  if (read.success) return read.data;
  const fields = read.error.issues.map(({ path }) => path.join('.') || 'answer').join(', ');
  throw new FaretrailClientError('AnswerUnreadable', `the answer of the run cannot be read: ${fields}`);
}
