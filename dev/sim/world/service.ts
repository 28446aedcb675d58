// The service: the sandbox's operations, called without sockets.
import { buffer } from 'node:stream/consumers';
import { readIncomingJson } from '../../../src/contracts/json.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import type { ApiReply, ApiRequest, Http } from '../../../src/ride-api/http.js';
import type { Endpoint } from '../../sandbox/endpoint.js';
import { createSandboxState, type SandboxOptions, type SandboxState } from '../../sandbox/sandbox-state.js';
import { serviceEndpoints } from '../../sandbox/service-routes.js';
import { currentProcess, type Process } from '../clock/process.js';

export const serviceUrl = 'https://service.example';

/** What can happen to a call in transit. */
export interface Wire {
  latencyMs: () => number;
  fate: () => 'arrives' | 'requestLost' | 'answerLost';
}

export interface Service {
  state: SandboxState;
  /** HTTP client for whichever process calls it. */
  http: Http;
}

/** How long a caller waits for a missing answer. */
const silentMs = 20_000;

export function createService(process: Process, wire: Wire, options: SandboxOptions = {}): Service {
  const state = process.enter(() => createSandboxState(options));
  const routes = serviceEndpoints(state).map((endpoint) => ({ endpoint, path: patternOf(endpoint.url) }));
  const answer = async (request: ApiRequest): Promise<ApiReply> => {
    const url = new URL(request.url);
    for (const { endpoint, path } of routes) {
      const found = endpoint.method === request.method ? path.exec(url.pathname) : null;
      if (found) return await process.enter(() => carryOut(endpoint, found.groups ?? {}, url, request));
    }
    return { status: 404, headers: {}, body: { errors: [{ code: 'not_found', title: 'No such path' }] } };
  };
  return {
    state,
    http: { send: (request, signal) => exchange(wire, request, answer, signal), close: async () => undefined },
  };
}

const patternOf = (url: string): RegExp => new RegExp(`^${url.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`);

async function carryOut(
  endpoint: Endpoint,
  params: Record<string, string>,
  url: URL,
  request: ApiRequest,
): Promise<ApiReply> {
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const body = await bodyOf(request, headers);
  const decoded = Object.fromEntries(Object.entries(params).map(([name, value]) => [name, decodeURIComponent(value)]));
  const prepared = await endpoint.prepare({
    headers,
    params: decoded,
    query: Object.fromEntries(url.searchParams),
    body,
  });
  const { status, headers: told, text, bytes } = prepared.answer();
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
  const fate = wire.fate();
  if (fate === 'requestLost') {
    await pause(wire.latencyMs());
    throw new RideApiUnreachable('NO_CONNECTION', serviceUrl, 'ECONNREFUSED');
  }
  request.beforeSending?.();
  await pause(wire.latencyMs());
  const reply = await answer(request);
  if (fate === 'answerLost') {
    await pause(silentMs);
    throw new RideApiUnreachable('TOTAL_TIMEOUT', serviceUrl, null);
  }
  await pause(wire.latencyMs());
  return reply;
}
