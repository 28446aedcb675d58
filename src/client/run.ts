import { InvalidInput } from '../domain/errors.js';
import type { Schema } from '../domain/schema.js';
import { FaretrailClientError } from '../temporal/run-errors.js';

/** Options of a call that waits for an answer. */
export interface AskOptions {
  /** After so many milliseconds the call throws `NoAnswer`. Default 30,000. */
  withinMs?: number;
}

const defaultWithinMs = 30_000;

/** Every call of the typed client that waits for an answer has a deadline. */
export const inTime = ({ withinMs = defaultWithinMs }: AskOptions = {}): Required<AskOptions> => ({ withinMs });

/** Reads the answer of a run, without fields that a later release adds. Throws `FaretrailClientError`. */
export async function toAnswer<Answer>(schema: Schema<Answer, unknown>, answer: Promise<unknown>): Promise<Answer> {
  const given = await answer;
  try {
    return schema.read(given, '');
  } catch (cause) {
    const message = `the answer of the run cannot be read: ${cause instanceof InvalidInput ? cause.message : cause}`;
    throw new FaretrailClientError('AnswerUnreadable', message, { cause });
  }
}
