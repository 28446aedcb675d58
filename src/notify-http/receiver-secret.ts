import { Buffer } from 'node:buffer';
import { hkdfSync } from 'node:crypto';

/**
 * The secret by which one receiver verifies notices. Who holds it can neither sign for another origin nor work out
 * `secret`. `origin` as `URL` writes it. HKDF of RFC 5869 with SHA-256.
 */
export const receiverSecret = (secret: Uint8Array, origin: string): Uint8Array =>
  Buffer.from(hkdfSync('sha256', secret, '', `faretrail notify ${origin}`, 32));

/** The form that the libraries of Standard Webhooks take. */
export const toWebhookSecret = (secret: Uint8Array): string => `whsec_${Buffer.from(secret).toString('base64')}`;
