// Replaces `src/sealing/sealer.ts`, whose encryption runs on threads that finish at unpredictable times. This one does
// not encrypt.
import { createHash } from 'node:crypto';
import { FaretrailError } from '../../../src/domain/errors.js';
import type { KeyRing } from '../../../src/sealing/key-ring.js';

export class SealingError extends FaretrailError<'SEALING_KEY_UNKNOWN' | 'SEALED_TEXT_INVALID'> {
  override readonly name = 'SealingError';
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export function createSealer([first]: KeyRing) {
  return {
    /** Five parts, like a compact JWE. */
    async seal(text: string, context?: string): Promise<string> {
      const header = encoded({ alg: 'dir', enc: 'A256GCM', kid: first.kid, ctx: context });
      return [header, '', encoded('iv'), encoded(text), encoded('tag')].join('.');
    },
    async unseal(sealed: string, context?: string): Promise<string> {
      const [header = '', , , text = ''] = sealed.split('.');
      const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
      const { ctx } = read(header) as { ctx?: string };
      if (ctx !== context)
        throw new SealingError('SEALED_TEXT_INVALID', 'the sealed text was made for another context');
      return read(text) as string;
    },
    keyedHash: (...parts: string[]): string =>
      createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16),
  };
}
export type Sealer = ReturnType<typeof createSealer>;
