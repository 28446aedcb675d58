import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { readIncomingJson } from '../contracts/json.js';
import { type GarbledCode, RideApiGarbled } from './errors.js';
import { toNetworkError } from './network-failure.js';

type Unpack = (packed: Uint8Array, limit: { maxOutputLength: number }) => Promise<Uint8Array>;

const inflateZlib = promisify(inflate) as Unpack;
const inflateBare = promisify(inflateRaw) as Unpack;

/** A zlib stream (RFC 1950) as RFC 9110 section 8.4.1.2 has it, or the bare one (RFC 1951) that some servers send instead. */
const unpackDeflate: Unpack = (packed, limit) => (hasZlibHead(packed) ? inflateZlib : inflateBare)(packed, limit);

const hasZlibHead = ([method = 0, flags = 0]: Uint8Array): boolean =>
  (method & 0x0f) === 8 && ((method << 8) | flags) % 31 === 0;

const unpackers: Readonly<Record<string, Unpack>> = {
  gzip: promisify(gunzip) as Unpack,
  'x-gzip': promisify(gunzip) as Unpack,
  deflate: unpackDeflate,
  br: promisify(brotliDecompress) as Unpack,
};
/** More than one on top of the other is rare already. */
const maxCodings = 4;

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
    const bytes = packed.length === 0 ? packed : await unpacked(packed, codingsOf(headers), maxBytes, garbled);
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

/** In the order in which they were applied. */
function codingsOf(headers: Dispatcher.ResponseData['headers']): string[] {
  const named = [headers['content-encoding'] ?? []].flat().join(',').toLowerCase().split(',');
  return named.map((name) => name.trim()).filter((name) => name !== '' && name !== 'identity');
}

async function unpacked(
  packed: Uint8Array,
  codings: readonly string[],
  maxOutputLength: number,
  garbled: (code: GarbledCode) => RideApiGarbled,
): Promise<Uint8Array> {
  if (codings.length > maxCodings) throw garbled('ENCODING');
  let bytes = packed;
  for (const coding of codings.toReversed()) {
    const unpack = Object.hasOwn(unpackers, coding) ? unpackers[coding] : undefined;
    if (!unpack) throw garbled('ENCODING');
    bytes = await unpack(bytes, { maxOutputLength }).catch((error: NodeJS.ErrnoException) => {
      throw garbled(error.code === 'ERR_BUFFER_TOO_LARGE' ? 'TOO_LARGE' : 'ENCODING');
    });
  }
  return bytes;
}

const isBlank = (bytes: Uint8Array): boolean =>
  bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
