import { promisify } from 'node:util';
import { brotliDecompress, unzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { readIncomingJson } from '../contracts/json.js';
import { type GarbledCode, RideApiGarbled } from './errors.js';
import { toNetworkError } from './network-failure.js';

type Unpack = (packed: Uint8Array, limit: { maxOutputLength: number }) => Promise<Uint8Array>;

/** RFC 9110 section 8.4.1. Requests ask for none of these; a proxy may pack an answer all the same. */
const unpackers: Readonly<Record<string, Unpack>> = {
  gzip: promisify(unzip) as Unpack,
  'x-gzip': promisify(unzip) as Unpack,
  deflate: promisify(unzip) as Unpack,
  br: promisify(brotliDecompress) as Unpack,
};

/** Reads the body of an answer: undefined when there is none, and when an error came with anything but clear JSON. Of a success
 *  throws `RideApiGarbled`, or `RideApiUnreachable` when it broke off. `maxBytes` holds before and after unpacking. */
export async function readReplyBody(
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
    const coding = String(headers['content-encoding'] ?? '')
      .trim()
      .toLowerCase();
    const bytes = packed.length === 0 ? packed : await unpacked(packed, coding, maxBytes, garbled);
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

function unpacked(
  packed: Uint8Array,
  coding: string,
  maxOutputLength: number,
  garbled: (code: GarbledCode) => RideApiGarbled,
): Uint8Array | Promise<Uint8Array> {
  if (coding === '' || coding === 'identity') return packed;
  const unpack = Object.hasOwn(unpackers, coding) ? unpackers[coding] : undefined;
  if (!unpack) throw garbled('ENCODING');
  return unpack(packed, { maxOutputLength }).catch((error: NodeJS.ErrnoException) => {
    throw garbled(error.code === 'ERR_BUFFER_TOO_LARGE' ? 'TOO_LARGE' : 'ENCODING');
  });
}

const isBlank = (bytes: Uint8Array): boolean =>
  bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
