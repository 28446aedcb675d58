import { keyRecipe } from '../sealing/key-ring.js';
import type { PayloadEncryption } from '../sealing/payload-codec.js';
import type { EnvReader } from './env-reader.js';

/** Reads `FARETRAIL_PAYLOAD_KEYS` and `FARETRAIL_ENCRYPT_PAYLOADS`. Keys alone only decrypt, so that they can be given to all first. */
export function readPayloadEncryption(read: EnvReader): PayloadEncryption {
  const name = 'FARETRAIL_PAYLOAD_KEYS';
  const keys = read.keyRing(name) ?? null;
  const encrypts = read.oneOf('FARETRAIL_ENCRYPT_PAYLOADS', ['true', 'false']) === 'true';
  if (encrypts && !read.isSecretSet(name)) read.refuse(name, `missing; make one with: ${keyRecipe}`);
  return Object.freeze({ keys, encrypts });
}
