import type { z } from 'zod';
import { InvalidInput } from '../domain/errors.js';
import { FaretrailClientError } from '../temporal/run-errors.js';

/** What a call that waits for an answer may be told. */
export interface AskOptions {
  /** In milliseconds; default 30,000. Then the error `NoAnswer`. */
  withinMs?: number;
}

const defaultWithinMs = 30_000;

/** Every question of the typed client has a deadline. */
export const inTime = ({ withinMs = defaultWithinMs }: AskOptions = {}): Required<AskOptions> => ({ withinMs });

/** Reads what a caller gives. Throws `InvalidInput` that names the field, never its value. */
export function toInput<Shape extends z.ZodType>(shape: Shape, given: unknown): z.output<Shape> {
  const read = shape.safeParse(given);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new InvalidInput(`${issue?.path.join('.') || 'input'}: ${issue?.message ?? 'cannot be read'}`);
}

/** Reads what a run answers; fields that a later release adds are left out. Throws `FaretrailClientError`. */
export async function toAnswer<Shape extends z.ZodType>(
  shape: Shape,
  answer: Promise<unknown>,
): Promise<z.output<Shape>> {
  const read = shape.safeParse(await answer);
  if (read.success) return read.data;
  const fields = read.error.issues.map(({ path }) => path.join('.') || 'answer').join(', ');
  throw new FaretrailClientError('AnswerUnreadable', `the answer of the run cannot be read: ${fields}`);
}
