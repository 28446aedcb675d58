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
  /** Other words for statuses, wherever a field is called `status`. */
  words: z.record(z.string(), z.string()).optional(),
  /** More fields beside the outermost object, or at the top of the body. */
  beside: z.record(z.string(), z.unknown()).optional(),
  /** More headers. */
  headers: z.record(z.string(), z.string()).optional(),
  /** Another body of its refusals. */
  errorBody: z.unknown().optional(),
  /** Another status in place of 404. */
  notFoundStatus: z.int().min(400).max(499).optional(),
});
export type OtherAnswer = z.output<typeof OtherAnswer>;

/** The operations that differ. */
export const OtherAnswersSchema = z.partialRecord(z.enum(operations), OtherAnswer);
export type OtherAnswers = z.output<typeof OtherAnswersSchema>;

/** The usual answer in its other form. Tokens keep their bodies. */
export function otherwise(answer: Answer, operation: OperationName, other: OtherAnswer | undefined): Answer {
  if (other === undefined) return answer;
  const { status = answer.status, under = [], names = {}, words = {}, beside = {} } = other;
  const headers = { ...answer.headers, ...other.headers };
  if (answer.status >= 400) return { ...refusedOtherwise(answer, other), headers };
  if (isTokenOperation(operation) || answer.text === '') return { ...answer, headers };
  const reworded = (name: string, value: unknown) => (name === 'status' ? (words[String(value)] ?? value) : value);
  const fields = Object.entries(JSON.parse(answer.text, reworded) as object);
  const renamed = Object.fromEntries(fields.map(([name, value]) => [names[name] ?? name, value]));
  const body = under.reduceRight<object>((inner, name) => ({ [name]: inner }), renamed);
  return { ...answer, status, headers, text: JSON.stringify({ ...body, ...beside }) };
}

function refusedOtherwise(answer: Answer, { errorBody, notFoundStatus }: OtherAnswer): Answer {
  const status = answer.status === 404 ? (notFoundStatus ?? 404) : answer.status;
  return { ...answer, status, text: errorBody === undefined ? answer.text : JSON.stringify(errorBody) };
}
