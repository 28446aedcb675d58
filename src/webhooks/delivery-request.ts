import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isJsonObject, type JsonObject, readIncomingJson } from '../contracts/json.js';

/** The largest body that is taken, in bytes. */
export const maxBodyBytes = 256 * 1024;

/** What the headers alone rule out: a body that is too large by its own account, or packed. */
export function refusalByHeaders(headers: IncomingHttpHeaders): 'tooLarge' | 'encoded' | null {
  // Node has already refused a length that is no number.
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) return 'tooLarge';
  const encoding = headers['content-encoding'];
  return encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity' ? null : 'encoded';
}

/** Will what is left of the body be small, and come? Then the connection can be used again. */
export function isRestSmall({ headers, complete }: IncomingMessage): boolean {
  if (complete) return true;
  const isDeclaredSmall = Number(headers['content-length'] ?? 0) <= maxBodyBytes;
  return isDeclaredSmall && headers['transfer-encoding'] === undefined && headers.expect === undefined;
}

/** The raw bytes, counted while they stream, so that one without a declared length is cut off too. `aborted`: the sender
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
    const giveUp = (): void => resolve('aborted'); // nothing new once the body is complete
    request.on('data', gather);
    request.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', giveUp);
    request.on('close', giveUp);
  });
}

/** A delivery as it came. */
export interface RawDelivery {
  headers: IncomingHttpHeaders;
  rawBody: Buffer;
  body: JsonObject;
  /** Can it be read in one way only? */
  isClear: boolean;
}

/** Reads the JSON object in the body; null for anything else, invalid UTF-8 included. */
export function readRawDelivery({ headers, rawBody }: Pick<RawDelivery, 'headers' | 'rawBody'>): RawDelivery | null {
  const { value, flaw } = readIncomingJson(rawBody, { mustBeUtf8: true }) ?? {};
  return isJsonObject(value) ? { headers, rawBody, body: value, isClear: flaw === null } : null;
}
