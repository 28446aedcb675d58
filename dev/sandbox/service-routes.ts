import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RideInterface } from '../../src/domain/account.js';
import { type Answer, errorAnswer } from './answers.js';
import { companyEndpoints } from './company-endpoints.js';
import { faultedAnswer, hangUp, sendFaulted, sendPlainly } from './delivery/sending.js';
import type { CallFacts, Endpoint } from './endpoint.js';
import type { LedgerEntry } from './ledger.js';
import { interfaceOf } from './operations.js';
import { orderEndpoints } from './order/endpoints.js';
import { otherwise } from './other-answers.js';
import { rideEndpoints } from './ride/endpoints.js';
import { quoteEndpoints } from './ride/estimates.js';
import { receiptEndpoints } from './ride/receipts.js';
import { reportEndpoints } from './ride/reports.js';
import type { SandboxState } from './sandbox-state.js';
import { subscriberEndpoints } from './subscription/endpoints.js';
import { tokenEndpoints } from './token/endpoints.js';

const nouns = [
  tokenEndpoints,
  orderEndpoints,
  receiptEndpoints,
  reportEndpoints,
  companyEndpoints,
  quoteEndpoints,
  rideEndpoints,
  subscriberEndpoints,
];

/** Every operation of the service. */
export const serviceEndpoints = (state: SandboxState): Endpoint[] => nouns.flatMap((endpointsOf) => endpointsOf(state));

/** The service: every operation, and an error for any other path. */
export function addServiceRoutes(app: FastifyInstance, state: SandboxState): void {
  for (const endpoint of serviceEndpoints(state)) {
    const url = state.otherAnswers[endpoint.operation]?.url ?? endpoint.url;
    app.route({ method: endpoint.method, url, handler: serve(state, endpoint) });
  }
  const refuse = refuser(state);
  app.setNotFoundHandler((request, reply) =>
    refuse(request, reply, errorAnswer(interfaceAt(request.url), 404, 'not_found', 'No such path')),
  );
  app.setErrorHandler<FastifyError>((error, request, reply) => refuse(request, reply, unreadable(error, request.url)));
}

/** The answer to a call that the HTTP server cannot read, such as one with a broken percent-encoding. */
export const unreadable = (error: FastifyError, url: string): Answer =>
  errorAnswer(interfaceAt(url), error.statusCode ?? 500, (error.code ?? 'internal_error').toLowerCase(), error.message);

/** The interface whose path this may be. */
const interfaceAt = (url: string): RideInterface => (/^\/v\d+\/(private|oauth)\//.test(url) ? 'partner' : 'business');

/** Answers and records a call that fits no operation. */
export function refuser(state: SandboxState) {
  return (request: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply => {
    const outcome = state.isDown ? { httpStatus: null, fault: 'down' } : { httpStatus: answer.status };
    state.ledger.record(toEntry(request, 'unknown', {}, outcome), false);
    return state.isDown ? hangUp(reply) : sendPlainly(reply, answer);
  };
}

function serve(state: SandboxState, endpoint: Endpoint) {
  const { operation } = endpoint;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { facts, answer: inItsForm } = await endpoint.prepare({
      headers: request.headers,
      params: request.params as Record<string, string>,
      query: request.query as Record<string, unknown>,
      body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
    });
    const usual = (): Answer => otherwise(inItsForm(), operation, state.otherAnswers[operation]);
    const record = (httpStatus: number | null, fault?: string, made: Partial<Answer> = {}) => {
      const { tokenNumber = facts.tokenNumber, orderId = facts.orderId } = made;
      const entry = toEntry(request, operation, { ...facts, tokenNumber, orderId }, { httpStatus, fault });
      state.ledger.record(entry, made.tokenNumber !== undefined);
    };
    if (state.isDown) {
      record(null, 'down');
      return hangUp(reply);
    }
    const fault = state.faults.take(operation, facts.orderId);
    if (fault?.kind === 'dropConnection' && fault.when === 'request') {
      record(null, fault.kind);
      return hangUp(reply);
    }
    const answer = fault
      ? faultedAnswer(fault, usual, { at: interfaceOf(operation), url: request.url, now: Date.now() })
      : usual();
    const isAnswered = !(fault?.kind === 'dropConnection' && fault.when === 'answer');
    record(isAnswered ? answer.status : null, fault?.kind, answer);
    return fault ? sendFaulted(reply, answer, fault, () => state.isDown) : sendPlainly(reply, answer);
  };
}

function toEntry(
  { method, url }: FastifyRequest,
  operation: LedgerEntry['operation'],
  facts: CallFacts,
  outcome: Pick<LedgerEntry, 'httpStatus' | 'fault'>,
): LedgerEntry {
  const path = url.split('?', 1)[0] ?? '';
  return { at: new Date().toISOString(), operation, method, path, ...facts, ...outcome };
}
