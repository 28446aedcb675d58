import type { DataConverter } from '@temporalio/common';
import { InvalidInput } from '../domain/errors.js';
import { parseKeyRing } from '../sealing/key-ring.js';
import { createPayloadCodec } from '../sealing/payload-codec.js';

/** How a service treats payloads. */
export interface PayloadKeysOptions {
  /** False: only reads what is encrypted, and writes in clear. Default true. */
  encrypts?: boolean;
}

/**
 * For callers of workers that encrypt payloads: a `dataConverter` for the `Client` that you give to `createFaretrailClient`, and
 * for your own workers. `keys` is the text of the workers' `FARETRAIL_PAYLOAD_KEYS`. Throws `InvalidInput`.
 */
export function withPayloadKeys(keys: string, { encrypts = true }: PayloadKeysOptions = {}): DataConverter {
  const parsed = parseKeyRing(keys);
  if ('problems' in parsed) throw new InvalidInput(`payload keys: ${parsed.problems.join('; ')}`);
  return { payloadCodecs: [createPayloadCodec({ keys: parsed.ring, encrypts })] };
}
