import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { FaretrailError } from '../domain/errors.js';
import { isRestSmall, maxBodyBytes, readBody, refusalByHeaders } from './delivery-request.js';
import type { IngressObserver } from './ingress-observer.js';
import type { Arrival, DeliveryIntake, IntakeAnswer } from './intake.js';
import { answerAndHangUp, answerBrokenRequest, contentType, problems } from './problems.js';

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
  intake: DeliveryIntake;
  rates: AddressRates;
  observer: Pick<IngressObserver, 'delivery' | 'failure'>;
  /** The pages for probes and Prometheus; null: they are at a port of their own. */
  pages: IngressPages | null;
  deadlines?: Partial<Deadlines>;
}

/** What the pages for probes and Prometheus show. */
interface IngressPages {
  /** Why the ingress cannot store deliveries now, in one line and without secrets; null when it can. */
  whyNotReady(): string | null | Promise<string | null>;
  /** The text of `/metrics`. */
  metricsPage(): Promise<{ type: string; body: string }>;
}

/** A server that listens. */
export interface IngressServer {
  port: number;
  /** Stops accepting, ends the requests under way, then resolves. */
  close(): Promise<void>;
}

interface DeliveryRoute {
  Params: { account: string; eventType: string; capability: string };
}

/** Starts to listen. Throws `FaretrailError` `IngressPortUnusable` when it cannot. */
export async function startIngressServer(options: IngressServerOptions): Promise<IngressServer> {
  const deadlines = { ...defaultDeadlines, ...options.deadlines };
  const app = createApp(deadlines, options.observer);
  addDeliveryRoute(app, options);
  if (options.pages) addPages(app, options.pages);
  try {
    await app.listen({ host: options.host, port: options.port });
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no reason given';
    const place = `${options.host}, port ${options.port}`;
    throw new FaretrailError('IngressPortUnusable', `FARETRAIL_INGRESS_PORT: cannot listen at ${place} (${code})`, {
      cause,
    });
  }
  return {
    port: (app.server.address() as AddressInfo).port,
    async close() {
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

function createApp({ headersMs, requestMs, idleMs }: Deadlines, observer: Pick<IngressObserver, 'failure'>) {
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

function addDeliveryRoute(app: FastifyInstance, { intake, rates, observer }: IngressServerOptions): void {
  async function receive(request: FastifyRequest<DeliveryRoute>, reply: FastifyReply): Promise<FastifyReply> {
    const since = performance.now();
    const { account, eventType, capability } = request.params;
    const arrival = intake.admit(account, eventType, capability);
    const answer = await answerTo(arrival, request, reply);
    const { outcome, deliveryId } = answer;
    const seconds = (performance.now() - since) / 1_000;
    observer.delivery({ account: arrival?.account ?? '', eventType: arrival?.eventType ?? '', outcome, seconds });
    if (deliveryId !== undefined)
      return reply
        .code(202)
        .header('content-type', 'application/json; charset=utf-8')
        .send(`{"deliveryId":"${deliveryId}"}`);
    if (outcome === 'aborted') return reply.hijack(); // the sender has gone
    return refuse(request, reply, outcome as keyof typeof problems);
  }

  async function answerTo(
    arrival: Arrival | null,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<IntakeAnswer> {
    if (!arrival) return { outcome: 'notFound' };
    return rates.take(arrival) ? await readAndTake(arrival, request, reply) : { outcome: 'tooMany' };
  }

  async function readAndTake(arrival: Arrival, request: FastifyRequest, reply: FastifyReply): Promise<IntakeAnswer> {
    const body = await bodyOf(request, reply);
    return typeof body === 'string' ? { outcome: body } : await intake.take(arrival, request.headers, body);
  }

  // All work happens here, since the framework would check the content type of the body and answer by itself.
  app.post<DeliveryRoute>('/webhooks/:account/:eventType/:capability', { onRequest: receive }, (request, reply) =>
    refuse(request, reply, 'failed'),
  );
}

async function bodyOf({ headers, raw }: FastifyRequest, reply: FastifyReply) {
  const refusal = refusalByHeaders(headers);
  if (refusal !== null) return refusal;
  if (headers.expect !== undefined) reply.raw.writeContinue();
  return await readBody(raw);
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

function addPages(app: FastifyInstance, { whyNotReady, metricsPage }: IngressPages): void {
  app.get('/healthz', (_request, reply) => reply.type('text/plain; charset=utf-8').send('live\n'));
  app.get('/readyz', async (_request, reply) => {
    const reason = await whyNotReady();
    reply.type('text/plain; charset=utf-8').header('cache-control', 'no-store');
    return reason === null ? reply.send('ready\n') : reply.code(503).send(`${reason}\n`);
  });
  app.get('/metrics', async (_request, reply) => {
    const { type, body } = await metricsPage();
    return reply.type(type).send(body);
  });
}

/** How many deliveries each address may send. */
export interface AddressRates {
  /** Counts a delivery; false: the address has sent too many. */
  take(address: Pick<Arrival, 'account' | 'eventType' | 'generation'>): boolean;
}

/** What an address may send at once, after it was quiet for so long. A sender that had an outage repeats what it could not send. */
const burstSeconds = 60;
/** A bound for memory. An account has few addresses at a time. */
const maxKnown = 1_000;

/** A token bucket for each address, in the memory of this process. `perSecond` null: no limit. */
export function createAddressRates(
  perSecond: number | null,
  now: () => number = () => performance.now(),
): AddressRates {
  if (perSecond === null) return { take: () => true };
  const stepMs = 1_000 / perSecond;
  // The instant at which the bucket is full again says all about it (the generic cell rate algorithm).
  const fullAt = new Map<string, number>();
  return {
    take({ account, eventType, generation }) {
      const address = `${account}/${eventType}/${generation}`;
      const at = now();
      const next = Math.max(fullAt.get(address) ?? at, at) + stepMs;
      if (next - at > burstSeconds * 1_000) return false;
      if (fullAt.size >= maxKnown && !fullAt.has(address)) fullAt.clear();
      fullAt.set(address, next);
      return true;
    },
  };
}
