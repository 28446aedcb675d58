import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ZodError } from 'zod';
import { InvalidInput } from '../../../src/domain/errors.js';
import type { SandboxState } from '../sandbox-state.js';
import { allCommands } from './commands.js';

/** The commands over HTTP under `/sandbox/`, for other processes. Bad input is answered with 400. */
export function addCommandRoutes(app: FastifyInstance, state: SandboxState): void {
  app.get('/sandbox/health', () => ({ status: 'ok' }));
  for (const [, { route, schema, run, as }] of allCommands) {
    const [method = '', path = ''] = route.split(' ');
    app.route({
      ...{ method, url: `/sandbox/${path}` },
      async handler(request, reply) {
        try {
          const result = await run(state, schema.parse(inputOf(request)));
          return reply.send(as === undefined ? (result ?? { done: true }) : { [as]: result });
        } catch (error) {
          const problems = problemsOf(error);
          if (!problems) throw error;
          return reply.code(400).send({ error: 'InvalidInput', problems });
        }
      },
    });
  }
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
