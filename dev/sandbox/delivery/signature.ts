import { createHmac } from 'node:crypto';

/** The proof that a delivery comes from the service (published 2.1): over the exact bytes, with `secret_id` as a text for the key. */
export const signatureOf = (body: Buffer, secretId: string): string =>
  `sha256=${createHmac('sha256', secretId).update(body).digest('base64')}`;

/** No page names the header of the proof, so a sandbox draws it from likely and unlikely ones. */
const signatureHeaders = [
  'X-Signature',
  'X-Hub-Signature-256',
  'X-Webhook-Signature',
  'X-Request-Signature',
  'X-Body-HMAC',
  'Signature',
  'Digest',
  'Authorization',
  'X-Secret',
  'X-Correlation-Id',
  'If-Match',
  'Etag',
  'X-7',
  'x_proof',
  'Cookie',
];

/** The header that a random source draws: one of the list, or one with a name of random letters. `random` gives 0 to 1. */
export function drawnHeader(random: () => number): string {
  const drawn = Math.floor(random() * (signatureHeaders.length + 3));
  const letter = () => String.fromCharCode(97 + Math.floor(random() * 26));
  return signatureHeaders[drawn] ?? `X-${Array.from({ length: 8 }, letter).join('')}`;
}
