import type { LookupFunction } from 'node:net';
import { Agent, buildConnector, type Dispatcher, errors, type FormData } from 'undici';
import { monotonicMs } from '../clock.js';
import { readIncomingJson } from '../contracts/json.js';
import { InvalidInput } from '../domain/errors.js';
import { unpack } from '../unpacking.js';
import { userAgent } from '../version.js';
import { type GarbledCode, RideApiGarbled, RideApiUnreachable } from './errors.js';
import { type ServiceProxy, throughProxy } from './proxy.js';

/** A request as it goes out, with the headers of each request beside these. Holds secrets: never log it, never attach it to an error. */
export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: string | FormData;
  /** Runs when the request has its connection, before its first byte. What it throws is the outcome: nothing is sent. */
  beforeSending?: (() => void) | undefined;
}

/** An answer as it came in, whatever its status. */
export interface ApiReply {
  status: number;
  /** Lower-case names; only those we read. */
  headers: Partial<Record<KeptHeader, string>>;
  /** Parsed JSON that can be read in one way only, its texts well-formed Unicode; undefined when there was no body, or when an
   *  error came with something else. */
  body: unknown;
}

const keptHeaders = ['date', 'link', 'location', 'retry-after', 'x-request-id'] as const;
type KeptHeader = (typeof keptHeaders)[number];

/** The time and space that one exchange may take, unless a caller sets other limits. */
const defaultHttpLimits = {
  /** Until TCP and TLS stand; through a proxy, until it stands, until the tunnel does, and until TLS does. */
  connectMs: 5_000,
  /** From the sent request to the whole head of the answer. */
  headersMs: 10_000,
  /** Between two pieces of the body. */
  bodyMs: 10_000,
  /** For all of it, the wait for a free connection included. */
  totalMs: 20_000,
  maxReplyBytes: 1_048_576,
  /** Open connections per origin; further requests wait in line. */
  connections: 64,
  /** Calls then go over new connections, so that they follow a name to its new address. Old ones end their calls. */
  connectionAgeMs: 60_000,
};
export type HttpLimits = typeof defaultHttpLimits;

/** The limits that differ, and the way to the service. */
export interface HttpOptions extends Partial<HttpLimits> {
  proxy?: ServiceProxy | null;
  /** Tests put names of their own in its place. */
  lookup?: LookupFunction;
}

/** One exchange at a time over kept-alive connections. It follows no redirect and repeats nothing: that is Temporal's. */
export interface Http {
  /** Throws `RideApiUnreachable`, `RideApiGarbled`, or the reason of `signal` when the caller aborts. */
  send(request: ApiRequest, signal?: AbortSignal): Promise<ApiReply>;
  /** Lets exchanges in flight end, then closes the connections. */
  close(): Promise<void>;
}

/** Makes the HTTP client; the limits are settings so that tests take milliseconds. */
export function createHttp({ proxy = null, lookup, ...options }: HttpOptions = {}): Http {
  const limits = { ...defaultHttpLimits, ...options };
  // A second per address: Node's 250 ms fails on a slow network when a host has several addresses.
  const perAddress = { autoSelectFamilyAttemptTimeout: 1_000, ...(lookup && { lookup }) };
  const direct = buildConnector({ timeout: limits.connectMs, ...perAddress });
  const connect = proxy === null ? direct : throughProxy(proxy, direct, limits.connectMs);
  const open = new Set<Agent>();
  let [newest, since] = [openAgent(), monotonicMs()];
  let closing: Promise<unknown> | undefined;

  function openAgent(): Agent {
    const agent = new Agent({
      connections: limits.connections,
      headersTimeout: limits.headersMs,
      bodyTimeout: limits.bodyMs,
      maxResponseSize: limits.maxReplyBytes,
      connect,
    });
    open.add(agent);
    return agent;
  }

  // undici has `clientTtl`, with which 7.30 leaves calls in line for ever where all connections are busy.
  function agentInTime(): Agent {
    if (closing !== undefined || monotonicMs() - since < limits.connectionAgeMs) return newest;
    const old = newest;
    void old.close().finally(() => open.delete(old));
    [newest, since] = [openAgent(), monotonicMs()];
    return newest;
  }

  return {
    send: (request, signal) => exchange(agentInTime(), request, limits, signal),
    async close() {
      closing ??= Promise.all([...open].map((agent) => agent.close()));
      await closing;
    },
  };
}

/** The headers that each request has beside its own. */
export const headersOfEach = {
  Accept: 'application/json',
  'Accept-Encoding': 'identity', // without it the service may compress the answer (RFC 9110 section 12.5.3)
  'User-Agent': userAgent, // gateways refuse requests without one
};

async function exchange(
  agent: Agent,
  request: ApiRequest,
  limits: HttpLimits,
  signal?: AbortSignal,
): Promise<ApiReply> {
  signal?.throwIfAborted();
  const url = toUrl(request.url);
  const stop = new AbortController();
  let isSent = false;
  const stopped = new Promise<never>((_, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true });
  });
  const onAbort = (): void => stop.abort(signal?.reason);
  const onTimeout = (): void => {
    const code = isSent ? 'TOTAL_TIMEOUT' : 'NO_CONNECTION';
    stop.abort(new RideApiUnreachable(code, url.origin, isSent ? null : 'TOTAL_TIMEOUT'));
  };
  const timer = setTimeout(onTimeout, limits.totalMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  const ask = async (): Promise<ApiReply> => {
    const { method, body = null } = request;
    const headers = { ...headersOfEach, ...request.headers };
    const target = { origin: url.origin, path: `${url.pathname}${url.search}`, method, headers, body };
    const onStart = (): void => {
      try {
        if (stop.signal.aborted) return;
        request.beforeSending?.();
        isSent = true;
      } catch (error) {
        stop.abort(error);
      }
    };
    const sending = agent.compose(noting(onStart)).request({ ...target, signal: stop.signal });
    const reply = await sending.catch((error: unknown) => {
      throw toNetworkError(error, url.origin, isSent);
    });
    const read = await readBody(reply, url.origin, limits.maxReplyBytes);
    return { status: reply.statusCode, headers: keptHeadersOf(reply.headers), body: read };
  };
  try {
    // A race, since undici heeds a signal only once the request has a connection.
    return await Promise.race([stopped, ask()]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Tells when a call may have left this process. Whatever fails before, such as a wait for a connection, leaves nothing in doubt. */
const noting =
  (onStart: () => void): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) =>
    dispatch(options, {
      // undici calls it before it writes the first byte to a socket, and then writes none of a call that is aborted by now.
      onRequestStart(...given) {
        onStart();
        handler.onRequestStart?.(...given);
      },
      onResponseStart: (...given) => handler.onResponseStart?.(...given),
      onResponseData: (...given) => handler.onResponseData?.(...given),
      onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
      onResponseError: (...given) => handler.onResponseError?.(...given),
    });

function keptHeadersOf(headers: Dispatcher.ResponseData['headers']): ApiReply['headers'] {
  const kept: ApiReply['headers'] = {};
  for (const name of keptHeaders) {
    const value = [headers[name]].flat()[0];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}

function toUrl(text: string): URL {
  // The platform's own error would hold the whole text.
  if (!URL.canParse(text)) throw new InvalidInput('base URL and path do not make a URL');
  return new URL(text);
}

function systemCodeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z0-9_/]{1,64}$/.test(code) ? code : 'UNKNOWN';
}

/** An error of undici or Node in our words. Nothing but its code word is kept. */
function toNetworkError(error: unknown, origin: string, isSent = true): Error {
  const systemCode = systemCodeOf(error);
  if (systemCode === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return new RideApiGarbled('TOO_LARGE', origin, null);
  // By class: undici 7.30 leaves the code of a parser error empty.
  if (error instanceof errors.HTTPParserError || systemCode === 'UND_ERR_HEADERS_OVERFLOW') {
    return new RideApiGarbled('NOT_HTTP', origin, null);
  }
  if (systemCode === 'UND_ERR_INVALID_ARG') {
    return new InvalidInput(`request to ${origin}: its path or a header holds characters that cannot be sent`);
  }
  return new RideApiUnreachable(isSent ? 'CONNECTION_LOST' : 'NO_CONNECTION', origin, systemCode);
}

/** Reads the body of an answer: undefined when there is none, and when an error came with anything but clear JSON. Of a success
 *  throws `RideApiGarbled`, or `RideApiUnreachable` when it broke off. `maxBytes` holds before and after unpacking. */
async function readBody(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  origin: string,
  maxBytes: number,
): Promise<unknown> {
  const isSuccess = statusCode >= 200 && statusCode < 300;
  const garbled = (code: GarbledCode): RideApiGarbled => new RideApiGarbled(code, origin, statusCode);
  try {
    const packed = await body.bytes().catch((error: unknown) => {
      throw toNetworkError(error, origin);
    });
    const coding = [headers['content-encoding']].flat().join();
    const bytes = await unpack(Buffer.from(packed.buffer, packed.byteOffset, packed.length), coding, maxBytes);
    if (typeof bytes === 'string') throw garbled(bytes === 'tooLarge' ? 'TOO_LARGE' : 'ENCODING');
    if (isBlank(bytes)) return undefined;
    const read = readIncomingJson(bytes);
    if (!read) throw garbled('NOT_JSON');
    if (read.flaw !== null) throw garbled(read.flaw);
    return read.value;
  } catch (error) {
    // The status of an error says enough, whatever became of its body.
    if (isSuccess) throw error;
    return undefined;
  }
}

const isBlank = (bytes: Uint8Array): boolean =>
  bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
