import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import type { Answer } from './answers.js';
import type { Fault } from './faults.js';

const dribblePieces = 10;
const hugeChunk = 'x'.repeat(65_536);

/** Drops the connection without a word. */
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

/** Sends an answer the way the fault wants it. `isDown` is asked again after a wait. */
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

/** The usual answer with a padding field before its own: a client that reads it all finds valid JSON. */
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
