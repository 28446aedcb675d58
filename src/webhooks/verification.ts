import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { ContractProfile } from '../contracts/contract-profile.js';
import { valueAt } from '../contracts/json.js';
import type { RawDelivery } from './raw-delivery.js';

/** How deliveries prove where they come from, as the contract profile says (assumed). */
export type VerificationSettings = ContractProfile['delivery']['verification'];

/** A `secret_id` in clear; it stays in this process. */
export interface DeliverySecret {
  /** Its SHA-256, to compare values of any length in constant time. */
  digest: Buffer;
  /** Its bytes, for the mode `hmac`. */
  bytes: Buffer;
}

/** The parts of a delivery that may hold its secret. */
export type Proof = Pick<RawDelivery, 'headers' | 'rawBody' | 'body'>;

/** What one generation accepts. */
export interface AcceptedProof {
  secrets: readonly DeliverySecret[];
  /** We may have lost the service's answer with the secret, so the path is the only proof. */
  isSecretLost: boolean;
  /** Our keys do not open one of its secrets. */
  hasUnreadableSecret: boolean;
}

/** `noSecretYet`: the ingress has no secret to compare with, which is not the sender's fault. */
export type Verdict = 'verified' | 'wrongSecret' | 'noSecretYet';

/** One verification mode. */
export interface Verification {
  /** False: the address, which cannot be guessed, is the only proof. */
  needsSecret: boolean;
  /** The headers that a later check needs, in lower case. */
  headers: readonly string[];
  verify(delivery: Proof, accepted: AcceptedProof): Verdict;
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

/** Prepares a `secret_id` for comparisons. */
export const toDeliverySecret = (secretId: string): DeliverySecret => ({
  digest: sha256(secretId),
  bytes: Buffer.from(secretId),
});

/** Is this text the secret? In constant time for texts of one length; the length of a secret is no secret. */
export const isSecret = (text: string, { digest }: DeliverySecret): boolean => timingSafeEqual(sha256(text), digest);

/** HMAC-SHA256 of the raw bytes under the secret. */
export const hmacOf = (rawBody: Buffer, { bytes }: DeliverySecret): Buffer =>
  createHmac('sha256', bytes).update(rawBody).digest();

/** Makes the check that the contract profile requires. */
export function createVerification(settings: VerificationSettings): Verification {
  const isProof = createProof(settings);
  return {
    needsSecret: settings.mode !== 'path',
    headers: headersOf(settings),
    verify(delivery, { secrets, isSecretLost, hasUnreadableSecret }) {
      if (settings.mode === 'path' || isSecretLost) return 'verified';
      if (secrets.some((secret) => isProof(delivery, secret))) return 'verified';
      return secrets.length === 0 || hasUnreadableSecret ? 'noSecretYet' : 'wrongSecret';
    },
  };
}

function headersOf(settings: VerificationSettings): string[] {
  if (settings.mode === 'header') return [settings.name.toLowerCase()];
  return settings.mode === 'hmac' ? [settings.header.toLowerCase()] : [];
}

function createProof(settings: VerificationSettings): (delivery: Proof, secret: DeliverySecret) => boolean {
  switch (settings.mode) {
    case 'path':
      return () => true;
    case 'header': {
      const name = settings.name.toLowerCase();
      return ({ headers }, secret) => isSecretText(headers[name], secret);
    }
    case 'body':
      return ({ body }, secret) => isSecretText(valueAt(body, settings.pointer), secret);
    case 'hmac': {
      const name = settings.header.toLowerCase();
      return ({ headers, rawBody }, secret) => {
        const given = headers[name];
        if (typeof given !== 'string' || !given.startsWith(settings.prefix)) return false;
        const mac = Buffer.from(given.slice(settings.prefix.length), settings.encoding);
        const expected = hmacOf(rawBody, secret);
        return mac.length === expected.length && timingSafeEqual(mac, expected);
      };
    }
  }
}

const isSecretText = (value: unknown, secret: DeliverySecret): boolean =>
  typeof value === 'string' && isSecret(value, secret);
