import type { FastifyReply, FastifyRequest } from 'fastify';
import { ZodError, type z } from 'zod';
import { InvalidInput } from '../../../src/domain/errors.js';

/** A route that reads its input with a schema, and answers with the result of `run`, or with 400 for bad input. */
export function command<S extends z.ZodType>(schema: S, run: (input: z.output<S>) => unknown) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    try {
      const result = await run(schema.parse(inputOf(request)));
      return reply.send(result ?? { done: true });
    } catch (error) {
      const problems = problemsOf(error);
      if (!problems) throw error;
      return reply.code(400).send({ error: 'InvalidInput', problems });
    }
  };
}

function inputOf({ query, params, body }: FastifyRequest): unknown {
  return { ...(query as object), ...(Buffer.isBuffer(body) ? parseBody(body) : {}), ...(params as object) };
}

function parseBody(body: Buffer): object {
  if (body.length === 0) return {};
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // The code below reports it, together with JSON that is no object.
  }
  throw new InvalidInput('body: must be a JSON object');
}

/** Lines that name the fields; undefined if the sandbox itself is wrong. */
function problemsOf(error: unknown): string[] | undefined {
  if (error instanceof InvalidInput) return [error.message];
  if (!(error instanceof ZodError)) return undefined;
  return error.issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
}
