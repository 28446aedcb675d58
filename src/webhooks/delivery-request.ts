import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isJsonObject, type JsonObject, readIncomingJson } from '../contracts/json.js';

/** The largest body that the ingress takes, in bytes. */
export const maxBodyBytes = 256 * 1024;

/** Why the headers alone rule the delivery out: a declared length that is too large, or a compressed body. */
export function refusalByHeaders(headers: IncomingHttpHeaders): 'tooLarge' | 'encoded' | null {
  // Node refuses a length that is not a number.
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) return 'tooLarge';
  const encoding = headers['content-encoding'];
  return encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity' ? null : 'encoded';
}

/** Is the rest of the body small, and will the sender send it? Then the connection can be used again. */
export function isRestSmall({ headers, complete }: IncomingMessage): boolean {
  if (complete) return true;
  const isDeclaredSmall = Number(headers['content-length'] ?? 0) <= maxBodyBytes;
  return isDeclaredSmall && headers['transfer-encoding'] === undefined && headers.expect === undefined;
}

/** Reads the raw bytes and counts them, so that it stops at the limit without a declared length, too. `aborted`: the sender
 *  went away, or took longer than the deadline of the server. */
export function readBody(request: IncomingMessage): Promise<Buffer | 'tooLarge' | 'aborted'> {
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

/** A delivery before the ingress reads its fields. */
export interface RawDelivery {
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
  body: JsonObject;
  /** Do all JSON parsers read the same in it? */
  isClear: boolean;
}

/** Reads the JSON object in the body; null for anything else, invalid UTF-8 included. */
export function readRawDelivery({ headers, rawBody }: Pick<RawDelivery, 'headers' | 'rawBody'>): RawDelivery | null {
  const { value, flaw } = readIncomingJson(rawBody, { mustBeUtf8: true }) ?? {};
  return isJsonObject(value) ? { headers, rawBody, body: value, isClear: flaw === null } : null;
}
