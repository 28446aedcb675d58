import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { z } from 'zod';
import type { CodecSettings } from '../config.js';
import { cannotListen, InvalidInput } from '../domain/errors.js';
import { deepestParsed, measureJson } from '../domain/json.js';
import { createLogger } from '../observability/logging.js';
import { createPayloadCodec, PayloadCodecError } from '../sealing/payload-codec.js';
import { answerBrokenRequest, contentType } from '../webhooks/problems.js';
import type { CommandContext, CommandSpec } from './command.js';
import { exitCodes } from './failure.js';

const help = `
The endpoint decrypts with FARETRAIL_PAYLOAD_KEYS. It listens at
FARETRAIL_CODEC_HOST and FARETRAIL_CODEC_PORT, answers pages of
FARETRAIL_CODEC_ORIGINS (the UI), and expects FARETRAIL_CODEC_TOKEN as a bearer
token. It opens no connection to Temporal. Ctrl-C or SIGTERM ends it. Temporal's
own command line uses it with:
  temporal workflow show --workflow-id order/partner/42 \\
    --codec-endpoint http://127.0.0.1:8481`;

/** `codec`: the endpoint that decrypts payloads for the Temporal UI and CLI. */
export const codecCommand: CommandSpec = {
  form: 'codec',
  does: 'decrypt payloads for the Temporal UI and its command line',
  more: help,
  act: serve,
};

async function serve(context: CommandContext): Promise<number> {
  const { payloads, codec: settings, logLevel } = context.loadSettings(context.env);
  if (payloads.keys === null)
    throw new InvalidInput('FARETRAIL_PAYLOAD_KEYS: missing; set the keys that payloads are encrypted with');
  const logger = createLogger({ level: logLevel, process: 'codec' });
  const told = new Set<string>(); // a page of history may hold hundreds of payloads with the same error
  const server = await startCodecServer({
    settings,
    codec: createPayloadCodec({ ...payloads, encrypts: true }),
    onUnreadable({ message }: PayloadCodecError) {
      if (told.has(message)) return;
      told.add(message);
      logger.warn(message);
    },
    onFailure: (error) => logger.error({ err: error }, 'a request failed'),
  });
  const stop = new Promise<void>((resolve) => context.onInterrupt(resolve));
  const asks = settings.token === null ? 'every program on this machine' : 'callers with the token';
  context.tell(
    { url: server.url, origins: settings.origins, needsToken: settings.token !== null },
    `codec endpoint ${server.url} decrypts for ${asks}; pages of ${settings.origins.join(', ')}`,
  );
  await stop;
  await server.close();
  return exitCodes.done;
}

/** What the endpoint is made of. */
interface CodecServerOptions {
  settings: CodecSettings;
  codec: PayloadCodec;
  /** The answer holds a payload that cannot be decrypted unchanged. The error names only the id of its key. */
  onUnreadable(error: PayloadCodecError): void;
  onFailure(error: unknown): void;
}

/** How often Node looks for requests past their deadline. */
const deadlineCheckMs = 500;

/** For a page of history of the UI: payloads have up to 2 MB, and base64 adds a third. */
export const bodyLimit = 16 * 1_048_576;

// The JSON form of protobuf: bytes are base64. Fields of later versions are kept.
const Base64 = z.string().meta({ contentEncoding: 'base64' });
const PayloadJson = z.looseObject({
  metadata: z.record(z.string(), Base64).nullish(),
  data: Base64.nullish(),
});
/** Body of a request, and of its answer. */
export const PayloadsJson = z.looseObject({ payloads: z.array(PayloadJson).nullish() });
type PayloadJson = z.infer<typeof PayloadJson>;

const problem = (status: number, detail: string) => ({ status, body: JSON.stringify({ status, detail }) });
const unfit = 'not a request of this kind';

/** Every refusal (RFC 9457). Their texts are fixed, so that they repeat nothing of the request. */
export const problems = {
  malformed: problem(400, unfit),
  notPayloads: problem(400, 'the body must be {"payloads":[...]} of Temporal'),
  noToken: problem(401, 'a bearer token is needed'),
  otherOrigin: problem(403, 'not for pages of this origin'),
  notFound: problem(404, 'there are /decode and /encode, by POST'),
  tooLarge: problem(413, unfit),
  notJson: problem(415, unfit),
  failed: problem(500, 'the payloads could not be read or written'),
} as const;

/** Limits for senders that are slow on purpose; `requestMs` is for headers and body together. A page of that size needs 5 Mbit/s. */
const usualDeadlines = { headersMs: 10_000, requestMs: 30_000 };

/** Starts to listen. Throws `FaretrailError` `CodecPortUnusable` when it cannot. */
export async function startCodecServer(options: CodecServerOptions, { headersMs, requestMs } = usualDeadlines) {
  const { host, port } = options.settings;
  const app = fastify({
    ...{ logger: false, bodyLimit, exposeHeadRoutes: false, forceCloseConnections: true, requestTimeout: requestMs },
    http: { headersTimeout: headersMs, requestTimeout: requestMs, connectionsCheckingInterval: deadlineCheckMs },
    clientErrorHandler: answerBrokenRequest,
  });
  app.removeContentTypeParser('text/plain');
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) =>
    measureJson(body).depth > deepestParsed ? done(null, undefined) : parse(request, body, done),
  );
  app.setErrorHandler<FastifyError>((error, _request, reply) => {
    const known = Object.values(problems).find(({ status }) => status === error.statusCode) ?? problems.failed;
    if (known === problems.failed) options.onFailure(error);
    return refuse(reply, known);
  });
  app.setNotFoundHandler((_request, reply) => refuse(reply, problems.notFound));
  guard(app, options.settings);
  addRoutes(app, options);
  try {
    await app.listen({ host, port });
  } catch (cause) {
    throw cannotListen('CodecPortUnusable', { host: 'FARETRAIL_CODEC_HOST', port: 'FARETRAIL_CODEC_PORT' }, cause);
  }
  const { port: taken } = app.server.address() as AddressInfo;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}`, close: () => app.close() };
}

/**
 * Accepts pages of the given origins, and programs, which send no origin; both need the token. It checks the origin without a
 * token, too: otherwise any page in a person's browser could use the endpoint on that person's machine.
 */
function guard(app: FastifyInstance, { origins, token }: CodecSettings): void {
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers;
    reply.headers({ vary: 'origin', 'cache-control': 'no-store' });
    if (origin !== undefined && !origins.includes(origin)) return refuse(reply, problems.otherOrigin);
    if (origin !== undefined)
      reply.headers({ 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' });
    if (request.method === 'OPTIONS') return answerPreflight(request, reply);
    if (request.method !== 'POST' || token === null || showsToken(request, token)) return;
    return refuse(reply.header('www-authenticate', 'Bearer'), problems.noToken);
  });
}

/** https://fetch.spec.whatwg.org/#cors-preflight-fetch, and https://wicg.github.io/private-network-access for Temporal Cloud. */
function answerPreflight(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const isFromPublicPage = request.headers['access-control-request-private-network'] === 'true';
  return reply
    .headers({
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization, authorization-extras, content-type, x-namespace',
      'access-control-max-age': '600',
      ...(isFromPublicPage ? { 'access-control-allow-private-network': 'true' } : {}),
    })
    .code(204)
    .send();
}

// Digests have equal length, so that the comparison takes the same time for every token.
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const showsToken = ({ headers }: FastifyRequest, token: string): boolean =>
  timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`));

function addRoutes(app: FastifyInstance, { codec, onUnreadable }: CodecServerOptions): void {
  async function decode(payload: Payload): Promise<Payload> {
    try {
      return (await codec.decode([payload]))[0] ?? payload;
    } catch (error) {
      if (!(error instanceof PayloadCodecError)) throw error;
      onUnreadable(error); // the other payloads of the page are still decrypted
      return payload;
    }
  }
  const encode = async (payload: Payload): Promise<Payload> => (await codec.encode([payload]))[0] ?? payload;

  const route = (path: string, convert: (payload: Payload) => Promise<Payload>): void => {
    app.post(path, async (request, reply) => {
      const body = PayloadsJson.safeParse(request.body);
      if (!body.success) return refuse(reply, problems.notPayloads);
      return { payloads: await Promise.all((body.data.payloads ?? []).map((json) => converted(json, convert))) };
    });
  };
  route('/decode', decode);
  route('/encode', encode);
  app.get('/healthz', (_request, reply) => reply.type('text/plain; charset=utf-8').send('live\n'));
}

async function converted(json: PayloadJson, convert: (payload: Payload) => Promise<Payload>): Promise<PayloadJson> {
  const data = Buffer.from(json.data ?? '', 'base64');
  const given: Payload = { data, metadata: mapped(json.metadata, (text) => Buffer.from(text, 'base64')) };
  const made = await convert(given);
  if (made === given) return json;
  return { metadata: mapped(made.metadata, toBase64), data: toBase64(made.data) };
}

const toBase64 = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('base64');

const mapped = <From, To>(record: Record<string, From> | null | undefined, to: (value: From) => To) =>
  Object.fromEntries(Object.entries(record ?? {}).map(([name, value]) => [name, to(value)]));

const refuse = (reply: FastifyReply, { status, body }: (typeof problems)[keyof typeof problems]): FastifyReply =>
  reply.code(status).type(contentType).send(body);
