import { isUtf8 } from 'node:buffer';
import { promisify } from 'node:util';
import { brotliDecompress, inflateRaw, unzip } from 'node:zlib';

/*
 * Packed bodies: answers of the service and deliveries. Requests ask for none, but a proxy may pack an answer all the
 * same; servers also confuse the header with the charset, and proxies unpack a body and leave the header.
 */

type Unpack = (packed: Buffer, limit: { maxOutputLength: number }) => Promise<Buffer>;

const unzipped: Unpack = promisify(unzip);
const inflated: Unpack = promisify(inflateRaw);

/** RFC 9110 section 8.4.1. Some senders leave out the frame of `deflate` (RFC 1950), whose first byte ends in 8. */
const unpackers: ReadonlyMap<string, Unpack> = new Map([
  ['gzip', unzipped],
  ['x-gzip', unzipped],
  ['deflate', (packed, limit) => (((packed[0] ?? 8) & 15) === 8 ? unzipped : inflated)(packed, limit)],
  ['br', promisify(brotliDecompress)],
]);

/** The other codings that IANA lists (https://www.iana.org/assignments/http-parameters). */
const foreignCodings = new Set(['aes128gcm', 'compress', 'dcb', 'dcz', 'exi', 'pack200-gzip', 'x-compress', 'zstd']);

/**
 * Is a body with this `Content-Encoding` packed, and can we unpack it? `foreign`: in another way, or more than once. A
 * word that names no coding, such as a charset, counts as none.
 */
export function packingOf(contentEncoding = ''): 'none' | 'ours' | 'foreign' {
  const [name, ...more] = codingsIn(contentEncoding);
  if (name === undefined) return 'none';
  return more.length === 0 && unpackers.has(name) ? 'ours' : 'foreign';
}

const codingsIn = (contentEncoding: string): string[] =>
  contentEncoding
    .split(',')
    .map((one) => one.replace(/;.*$/s, '').trim().toLowerCase())
    .filter((name) => unpackers.has(name) || foreignCodings.has(name));

/** Unpacks, and stops at `maxBytes`. Bytes that turn out not to be packed come back as they are. Never rejects. */
export async function unpack(
  bytes: Buffer,
  contentEncoding: string | undefined,
  maxBytes: number,
): Promise<Buffer | 'tooLarge' | 'notUnpackable'> {
  const packing = packingOf(contentEncoding);
  if (packing === 'none' || bytes.length === 0) return bytes;
  const asTheyAre = () => (isUtf8(bytes) ? bytes : 'notUnpackable');
  const [name = ''] = codingsIn(contentEncoding ?? '');
  const unpacker = packing === 'ours' ? unpackers.get(name) : undefined;
  if (unpacker === undefined) return asTheyAre();
  return await unpacker(bytes, { maxOutputLength: maxBytes }).catch((error: NodeJS.ErrnoException) =>
    error.code === 'ERR_BUFFER_TOO_LARGE' ? 'tooLarge' : asTheyAre(),
  );
}
