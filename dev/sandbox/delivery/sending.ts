import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import type { RideInterface } from '../../../src/domain/account.js';
import { type Answer, errorAnswer, jsonAnswer, tokenErrorAnswer } from '../answers.js';
import type { Fault } from '../faults.js';

const dribblePieces = 10;
const hugeChunk = 'x'.repeat(65_536);

/** Drops the connection without an answer. */
export function hangUp(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}

export const sendPlainly = (reply: FastifyReply, { status, headers, text, bytes }: Answer): FastifyReply =>
  reply
    .code(status)
    .headers(headers)
    .send(bytes ?? text);

/** Sends an answer as the fault says. Checks `isDown` again after a wait. */
export async function sendFaulted(
  reply: FastifyReply,
  answer: Answer,
  fault: Fault,
  isDown: () => boolean,
): Promise<FastifyReply> {
  switch (fault.kind) {
    case 'slow':
      await wait(fault.delayMs, undefined, { ref: false });
      return isDown() || reply.raw.destroyed ? hangUp(reply) : sendPlainly(reply, answer);
    case 'slowBody':
      return sendStream(reply, answer, dribble(answer.text, fault.durationMs));
    case 'hugeJson':
      return sendStream(reply, { ...answer, status: 200 }, hugeJson(answer.text, fault.bytes));
    case 'dropConnection':
      return fault.when === 'middle' ? breakOff(reply, answer) : hangUp(reply);
    default:
      return sendPlainly(reply, answer);
  }
}

const sendStream = (reply: FastifyReply, { status, headers }: Answer, body: AsyncIterable<string> | Iterable<string>) =>
  reply
    .code(status)
    .headers(headers)
    .send(Readable.from(body, { objectMode: false }));

async function* dribble(text: string, durationMs: number): AsyncGenerator<string> {
  const size = Math.max(1, Math.ceil(text.length / dribblePieces));
  for (let from = 0; from < text.length; from += size) {
    await wait(durationMs / dribblePieces, undefined, { ref: false });
    yield text.slice(from, from + size);
  }
}

/** The usual answer with a padding field before the others, as valid JSON. */
function* hugeJson(text: string, bytes: number): Generator<string> {
  yield '{"padding":"';
  for (let sent = 0; sent < bytes; sent += hugeChunk.length) yield hugeChunk;
  yield text.startsWith('{') ? `",${text.slice(1)}` : '"}';
}

/** Promises the whole body, sends half of it and drops the connection. */
function breakOff(reply: FastifyReply, { status, headers, text }: Answer): FastifyReply {
  if (text === '') return hangUp(reply); // headers alone would be a whole answer
  const bytes = Buffer.from(text);
  reply.hijack();
  reply.raw.writeHead(status, { ...headers, 'content-length': bytes.length });
  reply.raw.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => reply.raw.destroy());
  return reply;
}

interface FaultedCall {
  at: RideInterface;
  url: string;
  now: number;
}

/** The answer under a fault. `usual` carries the call out. Faults of sending leave the answer unchanged. */
export function faultedAnswer(fault: Fault, usual: () => Answer, { at, url, now }: FaultedCall): Answer {
  switch (fault.kind) {
    case 'unauthorized':
      return errorAnswer(at, 401, 'invalid_credentials', 'fault: unauthorized');
    case 'forbidden':
      return errorAnswer(at, 403, 'forbidden', 'fault: forbidden');
    case 'notFound':
      return errorAnswer(at, 404, 'not_found', 'fault: not found');
    case 'serverError':
      return instead(fault, usual, errorAnswer(at, 500, 'internal_error', 'fault: server error'));
    case 'tooManyRequests':
      return errorAnswer(at, 429, 'rate_limited', 'fault: too many requests', { headers: retryAfter(fault, now) });
    case 'unavailable':
      return instead(
        fault,
        usual,
        errorAnswer(at, 503, 'unavailable', 'fault: unavailable', { headers: retryAfter(fault, now) }),
      );
    case 'redirect':
      return { status: 302, headers: { location: url }, text: '' };
    case 'html':
      return instead(fault, usual, { status: fault.status, headers: htmlType, text: '<html><body>Oops</body></html>' });
    case 'reply':
      return instead(fault, usual, replyAnswer(fault));
    case 'errorInSuccess':
      return errorAnswer('partner', 200, 'internal_error', 'fault: an error in a 200 answer');
    case 'malformedJson':
      return change(usual(), (text) => text.slice(0, Math.ceil(text.length / 2)));
    case 'emptyBody':
      return change(usual(), () => '');
    case 'tokenAnswer':
    case 'subscriberAnswer':
      return change(usual(), (text) => alterFields(text, fault));
    case 'invalidClient':
      return tokenErrorAnswer('invalid_client', 'fault: invalid client', fault.shape);
    case 'invalidScope':
      return tokenErrorAnswer('invalid_scope', 'fault: invalid scope', fault.shape);
    case 'invalidGrant':
      return tokenErrorAnswer('invalid_grant', 'fault: invalid grant', fault.shape);
    case 'slow':
    case 'slowBody':
    case 'dropConnection':
    case 'hugeJson':
      return usual();
  }
}

const htmlType = { 'content-type': 'text/html' };

/** With `when: 'answer'` the sandbox carries the call out and sends this answer instead. */
const instead = ({ when }: { when: 'request' | 'answer' }, usual: () => Answer, answer: Answer): Answer =>
  when === 'answer' ? { ...usual(), ...answer } : answer;

const change = (answer: Answer, text: (text: string) => string): Answer => ({ ...answer, text: text(answer.text) });

function retryAfter(
  { retryAfterSeconds, retryAfterAs }: { retryAfterSeconds?: number | undefined; retryAfterAs: 'seconds' | 'date' },
  now: number,
): Record<string, string> {
  if (retryAfterSeconds === undefined) return {};
  const date = () => new Date(now + retryAfterSeconds * 1000).toUTCString();
  return { 'retry-after': retryAfterAs === 'date' ? date() : String(retryAfterSeconds) };
}

function replyAnswer({ status, headers, body, bytes }: Extract<Fault, { kind: 'reply' }>): Answer {
  if (bytes !== undefined) return { status, headers, text: '', bytes: Buffer.from(bytes, 'base64') };
  if (typeof body === 'string' || body === undefined) return { status, headers, text: body ?? '' };
  return jsonAnswer(status, body, headers);
}

type AlteredFields = Extract<Fault, { kind: 'tokenAnswer' | 'subscriberAnswer' }>;

function alterFields(text: string, { without, with: extra }: AlteredFields): string {
  const fields = Object.entries(JSON.parse(text) as object).filter(([name]) => !without.includes(name));
  return JSON.stringify({ ...Object.fromEntries(fields), ...extra });
}
