import { createHmac, hkdfSync } from 'node:crypto';
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose';
import { FaretrailError } from '../domain/errors.js';
import { type KeyRing, kidPattern } from './key-ring.js';

export type SealingErrorCode = 'SEALING_KEY_UNKNOWN' | 'SEALED_TEXT_INVALID';

/**
 * A sealed text cannot be opened. `SEALING_KEY_UNKNOWN`: it was sealed under a key that is not in our ring, which a
 * settings change repairs. `SEALED_TEXT_INVALID`: altered, not ours, or sealed for another context; nothing repairs it.
 */
export class SealingError extends FaretrailError<SealingErrorCode> {
  override readonly name = 'SealingError';
}

/** Encrypts single fields, so that Temporal stores them and its users cannot read them. */
export type Sealer = ReturnType<typeof createSealer>;

/** A sealer over a ring: compact JWE (RFC 7516 section 7.1), `alg: dir`, `enc: A256GCM`, `kid`, own parameter `ctx`. */
export function createSealer(keys: KeyRing) {
  const [first] = keys;
  // RFC 5869: one key, one purpose. The hash must not be keyed with the encryption key itself.
  const hashKey = new Uint8Array(hkdfSync('sha256', first.key, '', 'faretrail keyed hash', 32));

  return {
    /** Under the first key. Two calls give two texts: never compare sealed texts. `context` is shown in clear. */
    seal(text: string, context?: string): Promise<string> {
      return new CompactEncrypt(new TextEncoder().encode(text))
        .setProtectedHeader({
          ...{ alg: 'dir', enc: 'A256GCM', kid: first.kid },
          ...(context !== undefined && { ctx: context }),
        })
        .encrypt(first.key);
    },

    /** Under any key. `context` must be that of `seal`, so that what was sealed for one lease opens for no other. */
    async unseal(sealed: string, context?: string): Promise<string> {
      const key = findKey(sealed, keys);
      const { plaintext, protectedHeader } = await open(sealed, key);
      // Compared after decryption: only then is the header known to be ours (it is authenticated as AAD).
      if (protectedHeader.ctx !== context)
        throw new SealingError('SEALED_TEXT_INVALID', 'the sealed text was made for another context');
      return new TextDecoder().decode(plaintext);
    },

    /** 16 hex digits that stand for `parts`: the same under the same first key, and without it they say nothing about `parts`. */
    keyedHash(...parts: string[]): string {
      // JSON keeps ["ab", "c"] and ["a", "bc"] apart.
      return createHmac('sha256', hashKey).update(JSON.stringify(parts)).digest('hex').slice(0, 16);
    },
  };
}

function findKey(sealed: string, keys: KeyRing): Uint8Array {
  const kid = readKid(sealed);
  const held = keys.find((candidate) => candidate.kid === kid);
  if (held) return held.key;
  throw new SealingError(
    'SEALING_KEY_UNKNOWN',
    `no key "${kid}" to open the sealed text with; add it behind the others in the key setting`,
  );
}

function readKid(sealed: string): string {
  try {
    const { kid } = decodeProtectedHeader(sealed);
    if (typeof kid === 'string' && kidPattern.test(kid)) return kid;
  } catch {
    // Not a JWE at all: the same answer as one without a usable kid.
  }
  throw new SealingError('SEALED_TEXT_INVALID', 'the sealed text is not one of ours');
}

async function open(sealed: string, key: Uint8Array) {
  try {
    return await compactDecrypt(sealed, key, {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    });
  } catch (cause) {
    throw new SealingError('SEALED_TEXT_INVALID', 'the sealed text was altered or cut short', { cause });
  }
}
