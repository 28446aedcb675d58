import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { monotonicMs, wallMs } from '../clock.js';
import { cannotListen } from '../domain/errors.js';
import { packingOf } from '../unpacking.js';
import type { Address, Addresses } from './addresses.js';
import type { IntakeAnswer, TakeDelivery } from './intake.js';
import type { IngressObserver } from './observer.js';
import { answerAndHangUp, answerBrokenRequest, contentType, problems } from './problems.js';
import type { Verification } from './verification.js';

/** Limits for senders that are slow on purpose, in milliseconds. */
export interface Deadlines {
  headersMs: number;
  /** Headers and body together. */
  requestMs: number;
  /** For a connection without a request. */
  idleMs: number;
  /** How long a stop waits for requests under way. */
  stopMs: number;
}

const defaultDeadlines: Deadlines = { headersMs: 10_000, requestMs: 15_000, idleMs: 65_000, stopMs: 16_000 };
/** How often Node looks for requests past their deadline. */
const deadlineCheckMs = 1_000;
const idleSweepMs = 50;

export interface IngressServerOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  addresses: Addresses;
  takeDelivery: TakeDelivery;
  /** The largest body, in bytes. */
  maxBodyBytes: number;
  /** Names of the headers that may hold a proof, so that the delivery may be taken although its address has used up its share. */
  headersToCheck: Verification['headersToCheck'];
  observer: Pick<IngressObserver, 'delivery' | 'body' | 'failure'>;
  /** Gives a page for probes or Prometheus; null: they are at a port of their own. */
  readPage: ReadPage | null;
  deadlines?: Partial<Deadlines>;
}

type ReadPage = (path: string) => Promise<{ status: number; body: string; type?: string }>;

interface DeliveryRoute {
  Params: { account: string; eventType: string; capability: string };
}

/** Starts to listen. Throws `FaretrailError` `IngressPortUnusable` when it cannot. */
export async function startIngressServer(options: IngressServerOptions) {
  const deadlines = { ...defaultDeadlines, ...options.deadlines };
  const app = createApp(deadlines, options);
  addDeliveryRoute(app, options);
  if (options.readPage) addPages(app, options.readPage);
  try {
    await app.listen({ host: options.host, port: options.port });
  } catch (cause) {
    const at = { host: 'FARETRAIL_INGRESS_HOST', port: 'FARETRAIL_INGRESS_PORT' };
    throw cannotListen('IngressPortUnusable', at, cause);
  }
  return {
    port: (app.server.address() as AddressInfo).port,
    /** Stops accepting, ends the requests under way, then resolves. */
    async close(): Promise<void> {
      // After its last request a connection would stay open for `idleMs`.
      const sweep = setInterval(() => app.server.closeIdleConnections(), idleSweepMs);
      // A Node server that no longer listens does not look for slow requests.
      const impatience = setTimeout(() => app.server.closeAllConnections(), deadlines.stopMs);
      await app.close();
      clearInterval(sweep);
      clearTimeout(impatience);
    },
  };
}

function createApp({ headersMs, requestMs, idleMs }: Deadlines, { observer, maxBodyBytes }: IngressServerOptions) {
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false, // while it closes, the server still takes deliveries, and then closes their connections
    bodyLimit: maxBodyBytes,
    http: {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(deadlineCheckMs, headersMs),
    },
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    clientErrorHandler: answerBrokenRequest,
    // We never make an address that cannot be decoded or that has too long a part.
    frameworkErrors: (_error, request, reply) => refuse(request, reply, 'notFound'),
  });
  // A sender with `Expect: 100-continue` may send its body only if its address is ours.
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  // Before the framework reads a body.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) refuse(request, reply, 'notFound');
    else done();
  });
  app.setErrorHandler((error, request, reply) => {
    observer.failure(error);
    refuse(request, reply, 'failed');
  });
  return app;
}

function addDeliveryRoute(app: FastifyInstance, options: IngressServerOptions): void {
  const { addresses, takeDelivery, observer, maxBodyBytes } = options;

  async function receive(request: FastifyRequest<DeliveryRoute>, reply: FastifyReply): Promise<FastifyReply> {
    const since = monotonicMs();
    const { account, eventType, capability } = request.params;
    const address = addresses.find(account, eventType, capability, request.headers.host);
    const { outcome, deliveryId } = await answerTo(address, request, reply);
    const seconds = (monotonicMs() - since) / 1_000;
    observer.delivery({ account: address?.account ?? '', eventType: address?.eventType ?? '', outcome, seconds });
    if (deliveryId !== undefined)
      return reply
        .code(202)
        .header('content-type', 'application/json; charset=utf-8')
        .send(`{"deliveryId":"${deliveryId}"}`);
    if (outcome === 'look') return reply.code(200).headers(leaveFor(request)).send();
    if (outcome === 'aborted') return reply.hijack(); // the sender has gone
    return refuse(request, reply, outcome as keyof typeof problems);
  }

  async function answerTo(
    address: Address | null,
    { headers, method, raw, query }: FastifyRequest,
    reply: FastifyReply,
  ): Promise<IntakeAnswer> {
    if (!address) return { outcome: 'notFound' };
    if (method !== 'POST') {
      // Of a service that tries an address before it accepts it. Its subscription need not exist yet, so the path alone decides. The names in
      // the query may tell a person what it wants.
      if (Object.keys(query as object).length > 0) observer.body(address, 'look', Buffer.from(JSON.stringify(query)));
      return { outcome: 'look' };
    }
    const toll = addresses.reserve(address, mostBytesOf(headers, maxBodyBytes));
    const mayProve = () => options.headersToCheck(headers).some((name) => headers[name] !== undefined);
    if (!toll.isPaid && !mayProve()) return { outcome: 'tooMany' };
    const arrivedAt = wallMs();
    const refusal = refusalByHeaders(headers, maxBodyBytes);
    if (refusal !== null) return { outcome: refusal };
    if (headers.expect !== undefined) reply.raw.writeContinue();
    const body = await readBody(raw, maxBodyBytes);
    if (typeof body === 'string') return { outcome: body };
    return await takeDelivery({ ...address, arrivedAt, toll }, headers, body);
  }

  for (const url of [deliveryPath, `${deliveryPath}/`]) {
    // All work happens in `receive`, since the framework would check the content type of the body and answer by itself.
    const handler = (request: FastifyRequest, reply: FastifyReply) => refuse(request, reply, 'failed');
    app.route<DeliveryRoute>({ method: ['POST', 'GET', 'HEAD', 'OPTIONS'], url, onRequest: receive, handler });
  }
}

/**
 * The answer to a sender that asks by OPTIONS whether it may deliver (CloudEvents, HTTP webhooks 1.0, section 4). No
 * header lets a page of a browser read anything.
 */
function leaveFor({ method, headers }: FastifyRequest): Record<string, string> {
  if (method !== 'OPTIONS') return {};
  return {
    allow: 'GET, HEAD, OPTIONS, POST',
    ...(headers['webhook-request-origin'] !== undefined && { 'webhook-allowed-origin': '*' }),
    ...(headers['webhook-request-rate'] !== undefined && { 'webhook-allowed-rate': '*' }),
  };
}

const deliveryPath = '/webhooks/:account/:eventType/:capability';

/** The most that the body may have, unpacked. */
const mostBytesOf = (headers: IncomingHttpHeaders, maxBodyBytes: number): number =>
  packingOf(headers['content-encoding']) === 'none'
    ? Math.min(Number(headers['content-length'] ?? maxBodyBytes), maxBodyBytes)
    : maxBodyBytes;

/** Why the headers alone rule the delivery out: a declared length that is too large, or a body packed as we cannot unpack it. */
function refusalByHeaders(headers: IncomingHttpHeaders, maxBodyBytes: number): 'tooLarge' | 'encoded' | null {
  // Node refuses a length that is not a number.
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) return 'tooLarge';
  return packingOf(headers['content-encoding']) === 'foreign' ? 'encoded' : null;
}

/** In bytes. Reading it costs less than a new connection. */
const smallRest = 262_144;

/** Is the rest of the body small, and will the sender send it? Then the connection can be used again. */
function isRestSmall({ headers, complete }: IncomingMessage): boolean {
  if (complete) return true;
  const isDeclaredSmall = Number(headers['content-length'] ?? 0) <= smallRest;
  return isDeclaredSmall && headers['transfer-encoding'] === undefined && headers.expect === undefined;
}

/** Reads the raw bytes and counts them, so that it stops at the limit without a declared length, too. `aborted`: the sender
 *  went away, or took longer than the deadline of the server. */
function readBody(request: IncomingMessage, maxBodyBytes: number): Promise<Buffer | 'tooLarge' | 'aborted'> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let size = 0;
    const gather = (chunk: Buffer): void => {
      size += chunk.length;
      chunks.push(chunk);
      if (size <= maxBodyBytes) return;
      chunks = [];
      request.off('data', gather);
      resolve('tooLarge');
    };
    const giveUp = (): void => resolve('aborted'); // no effect once the body is complete
    request.on('data', gather);
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', giveUp);
    request.on('close', giveUp);
  });
}

function refuse(request: FastifyRequest, reply: FastifyReply, outcome: keyof typeof problems): FastifyReply {
  const problem = problems[outcome];
  if (!isRestSmall(request.raw) || outcome === 'tooLarge') {
    reply.hijack();
    answerAndHangUp(request.raw, reply.raw, problem);
    return reply;
  }
  if (problem.retryAfter !== undefined) reply.header('retry-after', problem.retryAfter);
  return reply.code(problem.status).header('content-type', contentType).send(problem.body);
}

function addPages(app: FastifyInstance, readPage: ReadPage): void {
  for (const path of ['/healthz', '/readyz', '/metrics'])
    app.get(path, async (_request, reply) => {
      const { status, body, type = 'text/plain; charset=utf-8' } = await readPage(path);
      return reply.code(status).type(type).header('cache-control', 'no-store').send(body);
    });
}
