import { InvalidInput } from '../domain/errors.js';
import type { Schema } from '../domain/schema.js';
import { FaretrailClientError } from '../temporal/run-errors.js';

/** What a call that waits for an answer may be told. */
export interface AskOptions {
  /** In milliseconds; default 30,000. Then the error `NoAnswer`. */
  withinMs?: number;
}

const defaultWithinMs = 30_000;

/** Every question of the typed client has a deadline. */
export const inTime = ({ withinMs = defaultWithinMs }: AskOptions = {}): Required<AskOptions> => ({ withinMs });

/** Reads what a run answers; fields that a later release adds are left out. Throws `FaretrailClientError`. */
export async function toAnswer<Answer>(schema: Schema<Answer, unknown>, answer: Promise<unknown>): Promise<Answer> {
  const given = await answer;
  try {
    return schema.read(given, '');
  } catch (cause) {
    const message = `the answer of the run cannot be read: ${cause instanceof InvalidInput ? cause.message : cause}`;
    throw new FaretrailClientError('AnswerUnreadable', message, { cause });
  }
}
