import { z } from 'zod';
import type { Answer } from './answers.js';
import { isTokenOperation, type OperationName, operations } from './operations.js';

/** How one operation differs from what the built-in contract profile assumes, so that a wrong guess can be played. */
const OtherAnswer = z.strictObject({
  /** Another path, such as `/v2/rides/:orderId`. */
  url: z.string().startsWith('/').optional(),
  /** Another success code. */
  status: z.int().min(200).max(299).optional(),
  /** The names of objects around the body, the outermost first. */
  under: z.array(z.string().min(1)).optional(),
  /** Other names for the fields at the top of the body. */
  names: z.record(z.string(), z.string()).optional(),
  /** More fields beside the outermost object, or at the top of the body. */
  beside: z.record(z.string(), z.unknown()).optional(),
  /** More headers. */
  headers: z.record(z.string(), z.string()).optional(),
});
export type OtherAnswer = z.output<typeof OtherAnswer>;

/** The operations that differ. */
export const OtherAnswersSchema = z.partialRecord(z.enum(operations), OtherAnswer);
export type OtherAnswers = z.output<typeof OtherAnswersSchema>;

/** The usual answer in its other form; refusals and tokens keep their bodies. */
export function otherwise(answer: Answer, operation: OperationName, other: OtherAnswer | undefined): Answer {
  if (other === undefined) return answer;
  const { status = answer.status, under = [], names = {}, beside = {} } = other;
  const headers = { ...answer.headers, ...other.headers };
  if (answer.status >= 300 || isTokenOperation(operation) || answer.text === '') return { ...answer, headers };
  const fields = Object.entries(JSON.parse(answer.text) as object);
  const renamed = Object.fromEntries(fields.map(([name, value]) => [names[name] ?? name, value]));
  const body = under.reduceRight<object>((inner, name) => ({ [name]: inner }), renamed);
  return { ...answer, status, headers, text: JSON.stringify({ ...body, ...beside }) };
}
