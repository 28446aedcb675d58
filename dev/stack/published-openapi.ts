import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { bodyLimit, problems as codecProblems, PayloadsJson } from '../../src/cli/codec.js';
import { AccountNameSchema } from '../../src/domain/keys.js';
import { DeliveryIdSchema } from '../../src/domain/parked.js';
import * as s from '../../src/domain/schema.js';
import { shares } from '../../src/domain/shares.js';
import { eventTypes } from '../../src/domain/subscription/subscription.js';
import { pages } from '../../src/observability/metrics-server.js';
import { brokenRequests, contentType, problems as ingressProblems, type Problem } from '../../src/webhooks/problems.js';
import { projectRoot } from './temporal/project-root.js';

/** The head of a published document; its version is that of the package. */
export const infoOf = (title: string, description: string): object => {
  const { version, license } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));
  return { title, version, description, license: { name: license } };
};

type Refusal = Pick<Problem, 'status' | 'body' | 'retryAfter'>;
type Refusals = Readonly<Record<string, Refusal>>;

const problemType = contentType.replace(/;.*/, '');
const secondsHeader = { description: 'Seconds to wait before the next try.', schema: { type: 'integer', minimum: 1 } };

/** The answers to requests that Node cannot read, named like the other refusals. */
const broken = Object.fromEntries(
  Object.values(brokenRequests).map((one) => [one.title.toLowerCase().replaceAll(' ', '-'), one]),
);

/** One response for each status, with every text that it may have. */
function refusalResponses(refusals: Refusals, headers: Record<number, object> = {}): Record<string, object> {
  const all = Object.entries({ ...refusals, ...broken });
  const statuses = [...new Set(all.map(([, { status }]) => status))].sort();
  return Object.fromEntries(
    statuses.map((status) => {
      const same = all.filter(([, one]) => one.status === status);
      const examples = same.map(([name, { body }]) => [name, { value: JSON.parse(body) }] as const);
      const texts = new Set(examples.map(([, { value }]) => value.detail));
      const retried = same.every(([, { retryAfter }]) => retryAfter !== undefined);
      const own = { ...headers[status], ...(retried && { 'Retry-After': { ...secondsHeader, required: true } }) };
      const content = { schema: { $ref: '#/components/schemas/Problem' }, examples: Object.fromEntries(examples) };
      const response = { description: [...texts].join(' '), content: { [problemType]: content } };
      return [status, Object.keys(own).length > 0 ? { ...response, headers: own } : response];
    }),
  );
}

const problemSchema = (required: readonly string[]): object => ({
  description: 'A refusal (RFC 9457). Go by its status: later releases may change its texts.',
  type: 'object',
  properties: {
    type: { type: 'string', format: 'uri-reference' },
    title: { type: 'string' },
    status: { type: 'integer', minimum: 400, maximum: 599 },
    detail: { type: 'string' },
  },
  required,
});

const textAnswer = (description: string): object => ({
  description,
  content: { 'text/plain': { schema: { type: 'string' } } },
});

/** The pages for probes and Prometheus, each with what it answers. */
const page = (operationId: string, summary: string, answers: Record<number, string>): object => ({
  get: {
    ...{ operationId, summary, tags: ['pages'] },
    responses: Object.fromEntries(Object.entries(answers).map(([status, text]) => [status, textAnswer(text)])),
  },
});

const tagsOf = (tags: Record<string, string>): object[] =>
  Object.entries(tags).map(([name, description]) => ({ name, description }));
const pagesTag = { pages: 'For probes and Prometheus. They hold no secret and no order.' };

const addressParameters = [
  { name: 'account', in: 'path', required: true, schema: AccountNameSchema.json },
  { name: 'eventType', in: 'path', required: true, schema: s.wordOf(eventTypes).json },
  {
    ...{ name: 'capability', in: 'path', required: true },
    description: 'A secret that only faretrail can make.',
    schema: { type: 'string' },
  },
];

const lookOperation = (operationId: string, method: string) => ({
  ...{ operationId, summary: `Try an address by ${method}`, tags: ['deliveries'], parameters: addressParameters },
  responses: {
    200: { description: 'A right address, whether or not its subscription exists. The body is empty.' },
    ...refusalResponses({ notFound: ingressProblems.notFound }),
  },
});

const deliveryOperation = {
  ...{ operationId: 'sendDelivery', summary: 'Send a delivery', tags: ['deliveries'] },
  description: `The address is the one that the subscription was made with; whoever knows it may send. A content type does not matter. The body is any JSON, by default of at most ${shares.body.kilobytes} KiB, before and after it is unpacked; it may be compressed once, by gzip, deflate or br. The contract profile says where it names its order, also inside a text that holds JSON, and whether the delivery must also prove itself by a secret in a header or in the body.`,
  parameters: addressParameters,
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: {},
        example: {
          ...{ id: '0d7c2d0e-52c4-4b21-8b0c-2f4c7f1f8a01', event_type: 'status_changed' },
          ...{ message: '{"order_id":42,"status":"Driving"}', timestamp: '2026-03-02T08:15:51.740212996Z' },
        },
      },
    },
  },
  responses: {
    202: {
      description: 'The delivery is durable, or a test or an event about an employee, of which nothing is kept.',
      content: { 'application/json': { schema: s.answerOf({ deliveryId: DeliveryIdSchema }).json } },
    },
    ...refusalResponses(ingressProblems),
  },
};

const ingress = {
  openapi: '3.1.0',
  info: infoOf('faretrail ingress', 'Takes the deliveries of the service. Let only /webhooks/ through to the outside.'),
  servers: [{ url: 'http://127.0.0.1:8480', description: 'By default. Senders come by FARETRAIL_PUBLIC_URL.' }],
  security: [],
  tags: tagsOf({ deliveries: 'From the service.', ...pagesTag }),
  paths: {
    '/webhooks/{account}/{eventType}/{capability}': {
      ...{ post: deliveryOperation, get: lookOperation('lookAtAddress', 'GET') },
      head: lookOperation('peekAtAddress', 'HEAD'),
      options: lookOperation('askForLeave', 'OPTIONS'),
    },
    '/healthz': page('isLive', 'Does the process run?', { 200: 'It runs.' }),
    '/readyz': page('isReady', 'Can it make a delivery durable?', { 200: 'It can.', 503: 'It cannot; the reason.' }),
    '/metrics': page('readMetrics', 'Metrics for Prometheus', { 200: 'Text of Prometheus.' }),
  },
  components: { schemas: { Problem: problemSchema(['type', 'title', 'status', 'detail']) } },
};

const codecHeaders = {
  Vary: { schema: { type: 'string', const: 'origin' } },
  'Cache-Control': { schema: { type: 'string', const: 'no-store' } },
};
const payloads = { 'application/json': { schema: { $ref: '#/components/schemas/Payloads' } } };

const conversion = (operationId: string, summary: string, description: string): object => ({
  post: {
    ...{ operationId, summary, description, tags: ['payloads'] },
    requestBody: { required: true, content: payloads },
    responses: {
      200: { description: 'As many payloads, in the same order.', headers: codecHeaders, content: payloads },
      ...refusalResponses(codecProblems, {
        401: { 'WWW-Authenticate': { required: true, schema: { type: 'string', const: 'Bearer' } } },
      }),
    },
  },
});

const codec = {
  openapi: '3.1.0',
  info: infoOf(
    'faretrail codec endpoint',
    `Decrypts and encrypts payloads as Temporal's UI and command line ask for it. It answers programs, and pages of FARETRAIL_CODEC_ORIGINS. A body has at most ${bodyLimit} bytes.`,
  ),
  servers: [{ url: 'http://127.0.0.1:8481', description: 'By default.' }],
  security: [{}, { token: [] }],
  tags: tagsOf({ payloads: 'As Temporal sends and stores them.', ...pagesTag }),
  paths: {
    '/decode': conversion('decode', 'Decrypt payloads', 'A payload for which it has no key stays as it is.'),
    '/encode': conversion('encode', 'Encrypt payloads', 'With the first of FARETRAIL_PAYLOAD_KEYS.'),
    '/healthz': page('isLive', 'Does the process run?', { 200: 'It runs.' }),
  },
  components: {
    schemas: { Payloads: z.toJSONSchema(PayloadsJson), Problem: problemSchema(['status', 'detail']) },
    securitySchemes: {
      token: { type: 'http', scheme: 'bearer', description: 'Needed where FARETRAIL_CODEC_TOKEN is set.' },
    },
  },
};

const failed = 'The check itself failed.';
/** What each page of the metrics server answers; a page without a line here is not published, and a test says so. */
const pageAnswers: Record<string, object> = {
  '/metrics': page('readMetrics', 'Metrics for Prometheus', { 200: 'Text of Prometheus.', 503: failed }),
  '/healthz': page('isLive', 'Does the process do its work?', { 200: 'It does.', 503: 'It does not; the reason.' }),
  '/readyz': page('isReady', 'Is it ready for work?', { 200: 'It is.', 503: 'It is not; the reason.' }),
};

const worker = {
  openapi: '3.1.0',
  info: infoOf(
    'faretrail worker',
    'Pages of a worker at FARETRAIL_METRICS_PORT, and of an ingress at FARETRAIL_INGRESS_METRICS_PORT.',
  ),
  servers: [
    { url: 'http://127.0.0.1:{port}', variables: { port: { default: '9464' } }, description: 'Off unless it is set.' },
  ],
  security: [],
  tags: tagsOf(pagesTag),
  paths: Object.fromEntries([...pages.keys()].map((path) => [path, pageAnswers[path]])),
};

/** The HTTP endpoints as OpenAPI 3.1, by their published names in docs/schema. */
export const publishedOpenApi = { 'openapi-ingress': ingress, 'openapi-codec': codec, 'openapi-worker': worker };
