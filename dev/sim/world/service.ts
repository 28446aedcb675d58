// The service: the sandbox's operations, called without sockets.
import { buffer } from 'node:stream/consumers';
import { readIncomingJson } from '../../../src/contracts/json.js';
import type { RideInterface } from '../../../src/domain/account.js';
import type { AccountName, OrderId } from '../../../src/domain/keys.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { type ApiReply, type ApiRequest, type Http, headersOfEach } from '../../../src/ride-api/http.js';
import type { DeliverySender } from '../../sandbox/delivery/sender.js';
import type { Endpoint } from '../../sandbox/endpoint.js';
import { statusAt } from '../../sandbox/order/orders.js';
import { createSandboxState, type SandboxOptions, type SandboxState } from '../../sandbox/sandbox-state.js';
import { serviceEndpoints } from '../../sandbox/service-routes.js';
import { currentProcess, type Process } from '../clock/process.js';
import type { Interference, Refusal } from './interference.js';

export const serviceUrl = 'https://service.example';

/** The connections to the service. */
export interface Wire {
  latencyMs: () => number;
  interference: Interference;
}

export interface Service {
  state: SandboxState;
  /** All calls, whatever became of them. */
  sent: readonly { at: number; url: string }[];
  /** HTTP client for whichever process calls it. */
  http: Http;
  /** The present status of an order. */
  statusOf: (account: AccountName, orderId: OrderId) => string | undefined;
}

export const isTokenRequest = (url: string): boolean => url.endsWith('/oauth/token');

/** How long a caller waits for a missing answer. */
const silentMs = 20_000;
/** How much longer than others a late answer is on its way: it still comes before the caller gives up. */
const lateBy = 190;

export function createService(
  process: Process,
  wire: Wire,
  { sandbox, sender }: { sandbox: SandboxOptions; sender: DeliverySender },
): Service {
  const state = process.enter(() => createSandboxState(sandbox, sender));
  const routes = serviceEndpoints(state).map((endpoint) => ({ endpoint, path: patternOf(endpoint.url) }));
  const answer = async (request: ApiRequest): Promise<ApiReply> => {
    const url = new URL(request.url);
    for (const { endpoint, path } of routes) {
      const found = endpoint.method === request.method ? path.exec(url.pathname) : null;
      if (found) return await process.enter(() => carryOut(state, { endpoint, params: found.groups ?? {} }, request));
    }
    return { status: 404, headers: {}, body: { errors: [{ code: 'not_found', title: 'No such path' }] } };
  };
  const sent: { at: number; url: string }[] = [];
  return {
    state,
    sent,
    statusOf(account, orderId) {
      const order = state.orders.find(account as string as RideInterface, orderId);
      return order && process.enter(() => statusAt(order, Date.now()));
    },
    http: {
      send(request, signal) {
        sent.push({ at: process.scheduler.now, url: request.url });
        return exchange(wire, request, answer, signal);
      },
      close: async () => undefined,
    },
  };
}

const refused = { errors: [{ code: 'refused', title: 'Not now' }] };

const refusedWith = ({ status, retryAfterSeconds, body = refused }: Refusal): ApiReply => ({
  status,
  headers: retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) },
  body,
});

const patternOf = (url: string): RegExp => new RegExp(`^${url.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`);

async function carryOut(
  state: SandboxState,
  { endpoint, params }: { endpoint: Endpoint; params: Record<string, string> },
  request: ApiRequest,
): Promise<ApiReply> {
  const at = new Date().toISOString();
  const { pathname: path, searchParams } = new URL(request.url);
  const headers = Object.fromEntries(
    Object.entries({ ...headersOfEach, ...request.headers }).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const body = await bodyOf(request, headers);
  const decoded = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]));
  const { facts, answer } = await endpoint.prepare({
    headers,
    params: decoded,
    query: Object.fromEntries(searchParams),
    body,
  });
  const { status, headers: told, text, bytes, ...made } = answer();
  const { operation, method } = endpoint;
  const { tokenNumber = facts.tokenNumber, orderId = facts.orderId } = made;
  const entry = { at, operation, method, path, ...facts, tokenNumber, orderId, httpStatus: status };
  state.ledger.record(entry, made.tokenNumber !== undefined);
  const read = readIncomingJson(bytes ?? Buffer.from(text), { mustBeUtf8: true });
  const kept = Object.entries(told).map(([name, value]) => [name.toLowerCase(), value]);
  return { status, headers: Object.fromEntries(kept), body: read?.value };
}

/** Encodes a form as `fetch` does. */
async function bodyOf({ body }: ApiRequest, headers: Record<string, string>): Promise<Buffer> {
  if (body === undefined || typeof body === 'string') return Buffer.from(body ?? '');
  const response = new Response(body as unknown as globalThis.FormData);
  headers['content-type'] = response.headers.get('content-type') ?? '';
  return response.body ? await buffer(response.body) : Buffer.alloc(0);
}

async function exchange(
  wire: Wire,
  request: ApiRequest,
  answer: (request: ApiRequest) => Promise<ApiReply>,
  signal?: AbortSignal,
): Promise<ApiReply> {
  signal?.throwIfAborted();
  const caller = currentProcess();
  if (!caller) throw new Error('only a process calls the service');
  const pause = (ms: number) =>
    new Promise<void>((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      caller.after(ms, resolve);
    });
  const { interference } = wire;
  const fate = interference.fateOf('service', request.url);
  if (fate === 'requestLost') {
    await pause(wire.latencyMs());
    throw new RideApiUnreachable('NO_CONNECTION', serviceUrl, 'ECONNREFUSED');
  }
  request.beforeSending?.();
  await pause(wire.latencyMs());
  const refusal = interference.refusal(request.url);
  const reply = refusal ? refusedWith(refusal) : await answer(request);
  if (fate === 'answerLost') {
    await pause(silentMs);
    throw new RideApiUnreachable('TOTAL_TIMEOUT', serviceUrl, null);
  }
  await pause(fate === 'answerLate' ? lateBy * wire.latencyMs() : wire.latencyMs());
  return reply;
}
