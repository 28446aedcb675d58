import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { FaretrailError } from '../domain/errors.js';
import { isRestSmall, maxBodyBytes, readBody, refusalByHeaders } from './delivery-request.js';
import type { IngressObserver } from './ingress-observer.js';
import type { Arrival, DeliveryIntake, IntakeAnswer } from './intake.js';
import { answerAndHangUp, answerBrokenRequest, problems } from './problems.js';

/** Against senders that are slow on purpose. Milliseconds. */
export interface Deadlines {
  headersMs: number;
  /** Headers and body together. */
  requestMs: number;
  /** An open connection between two requests. */
  idleMs: number;
  /** How long a stop waits for requests under way. */
  stopMs: number;
}

const defaultDeadlines: Deadlines = { headersMs: 10_000, requestMs: 15_000, idleMs: 65_000, stopMs: 16_000 };
/** Node looks for requests past their deadline this often. */
const deadlineCheckMs = 1_000;
const idleSweepMs = 50;

/** What the server needs. */
export interface IngressServerOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  intake: DeliveryIntake;
  observer: Pick<IngressObserver, 'delivery' | 'failure'>;
  /** Why no delivery can be made durable now, in one line and without secrets; null when it can. */
  whyNotReady(): string | null | Promise<string | null>;
  /** The text of `/metrics`. */
  metricsPage(): Promise<{ type: string; body: string }>;
  deadlines?: Partial<Deadlines>;
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
  addPages(app, options);
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
      // A connection becomes idle when its last request has ended, and would then stay open for `idleMs`.
      const sweep = setInterval(() => app.server.closeIdleConnections(), idleSweepMs);
      // Node no longer looks for slow requests once it stops listening.
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
    return503OnClosing: false, // what still comes in is taken like any other delivery, and its connection closed
    bodyLimit: maxBodyBytes,
    http: {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(deadlineCheckMs, headersMs),
    },
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    clientErrorHandler: answerBrokenRequest,
    // An address that cannot be decoded or has a part that is too long is one of those that we did not make.
    frameworkErrors: (_error, request, reply) => refuse(request, reply, 'notFound'),
  });
  // A sender that asks before it sends a body is told to go on only once its address is known to be ours.
  app.server.on('checkContinue', (request, response) => app.server.emit('request', request, response));
  // Before routing goes on to read bodies.
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

function addDeliveryRoute(app: FastifyInstance, { intake, observer }: IngressServerOptions): void {
  const tell = (arrival: Arrival | null, outcome: IntakeAnswer['outcome'], since: number): void =>
    observer.delivery({
      account: arrival?.account ?? '',
      eventType: arrival?.eventType ?? '',
      outcome,
      seconds: (performance.now() - since) / 1_000,
    });

  async function receive(request: FastifyRequest<DeliveryRoute>, reply: FastifyReply): Promise<FastifyReply> {
    const since = performance.now();
    const { account, eventType, capability } = request.params;
    const arrival = intake.admit(account, eventType, capability);
    const { outcome, deliveryId } = arrival ? await readAndTake(arrival, request, reply) : notFound;
    tell(arrival, outcome, since);
    if (deliveryId !== undefined)
      return reply
        .code(202)
        .header('content-type', 'application/json; charset=utf-8')
        .send(`{"deliveryId":"${deliveryId}"}`);
    if (outcome === 'aborted') return reply.hijack(); // the sender has gone
    return refuse(request, reply, outcome as keyof typeof problems);
  }

  async function readAndTake(arrival: Arrival, request: FastifyRequest, reply: FastifyReply): Promise<IntakeAnswer> {
    const refusal = refusalByHeaders(request.headers);
    if (refusal !== null) return { outcome: refusal };
    if (request.headers.expect !== undefined) reply.raw.writeContinue();
    const rawBody = await readBody(request.raw);
    if (typeof rawBody === 'string') return { outcome: rawBody };
    return await intake.take(arrival, request.headers, rawBody);
  }

  // All of it in this hook: the framework's own reading of bodies would look at content types and answer in its own way.
  app.post<DeliveryRoute>('/webhooks/:account/:eventType/:capability', { onRequest: receive }, (request, reply) =>
    refuse(request, reply, 'failed'),
  );
}

const notFound: IntakeAnswer = { outcome: 'notFound' };

function refuse(request: FastifyRequest, reply: FastifyReply, outcome: keyof typeof problems): FastifyReply {
  const problem = problems[outcome];
  if (!isRestSmall(request.raw) || outcome === 'tooLarge') {
    reply.hijack();
    answerAndHangUp(request.raw, reply.raw, problem);
    return reply;
  }
  if (problem.retryAfter !== undefined) reply.header('retry-after', problem.retryAfter);
  return reply
    .code(problem.status)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(problem.body);
}

function addPages(app: FastifyInstance, { whyNotReady, metricsPage }: IngressServerOptions): void {
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
