import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { placeWhere } from '../contracts/body-shape.js';
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
export type Proof = Pick<RawDelivery, 'headers' | 'rawBody' | 'unpacked' | 'body'>;

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
const isSecret = (text: string, { digest }: DeliverySecret): boolean => timingSafeEqual(sha256(text), digest);

/** HMAC-SHA256 of the bytes under the secret. */
const hmacOf = (signed: Buffer, { bytes }: DeliverySecret): Buffer =>
  createHmac('sha256', bytes).update(signed).digest();

const isMac = (given: Buffer, mac: Buffer): boolean => given.length === mac.length && timingSafeEqual(given, mac);

/** Makes the check that the contract profile requires. */
export function createVerification(settings: VerificationSettings): Verification {
  const { headers, isProof } = proofOf(settings);
  return {
    needsSecret: settings.mode !== 'path',
    headers,
    verify(delivery, { secrets, isSecretLost, hasUnreadableSecret }) {
      if (settings.mode === 'path' || isSecretLost) return 'verified';
      if (secrets.some((secret) => isProof(delivery, secret))) return 'verified';
      return secrets.length === 0 || hasUnreadableSecret ? 'noSecretYet' : 'wrongSecret';
    },
  };
}

type IsProof = (delivery: Proof, secret: DeliverySecret) => boolean;

function proofOf(settings: VerificationSettings): { headers: readonly string[]; isProof: IsProof } {
  switch (settings.mode) {
    case 'path':
      return { headers: [], isProof: () => true };
    case 'header': {
      const name = settings.name.toLowerCase();
      return { headers: [name], isProof: ({ headers }, secret) => isSecretText(headers[name], secret) };
    }
    case 'body':
      return { headers: [], isProof: ({ body }, secret) => isSecretText(valueAt(body, settings.pointer), secret) };
    case 'hmac': {
      const name = settings.header.toLowerCase();
      const isProof: IsProof = ({ headers, rawBody, unpacked }, secret) => {
        const given = headers[name];
        if (typeof given !== 'string' || !given.startsWith(settings.prefix)) return false;
        const mac = Buffer.from(given.slice(settings.prefix.length), settings.encoding);
        const expected = hmacOf(settings.over === 'unpacked' ? unpacked : rawBody, secret);
        return isMac(mac, expected);
      };
      return { headers: [name], isProof };
    }
  }
}

const isSecretText = (value: unknown, secret: DeliverySecret): boolean =>
  typeof value === 'string' && isSecret(value, secret);

/** Where a delivery may carry its secret. */
export type SecretPlace = 'header' | 'body' | 'hmac' | 'none';

/** Where the ingress saw the secret of a delivery, so that an operator can choose the mode. Never the secret itself. */
export interface SecretSighting {
  place: SecretPlace;
  /** The name of the header, or the pointer into the body; empty for `none`. */
  at: string;
  /** The encoding of the mac. */
  encoding?: 'hex' | 'base64';
  /** The text before the mac. */
  prefix?: string;
  /** The mac is over the unpacked bytes of a packed body. */
  over?: 'unpacked';
}

/** The first deliveries of an address show where its secret is; later ones show whether that is still so. */
const alwaysFirst = 20;
const thenOneIn = 1_000;
/** Bounds of the search in headers, so that no sender makes it expensive. */
const maxHeaders = 50;
const maxLength = 512;
const maxAddresses = 1_000;

/** Chooses the deliveries of each address that the ingress searches. */
export function createSampling(): (address: string) => boolean {
  const seen = new Map<string, number>();
  return (address) => {
    if (seen.size >= maxAddresses && !seen.has(address)) seen.clear();
    const before = seen.get(address) ?? 0;
    seen.set(address, before + 1);
    return before < alwaysFirst || before % thenOneIn === 0;
  };
}

/** Looks for the secrets in headers and body, and for their macs of the body, as it came and unpacked. Gives the first place. */
export function findSecret(
  { headers, rawBody, unpacked, body }: Proof,
  secrets: readonly DeliverySecret[],
): SecretSighting {
  const texts = Object.entries(headers).slice(0, maxHeaders);
  for (const secret of secrets) {
    const macs = [{ mac: hmacOf(rawBody, secret) }, { mac: hmacOf(unpacked, secret), over: 'unpacked' as const }];
    for (const [at, value] of texts) {
      if (typeof value !== 'string' || value.length > maxLength) continue;
      if (isSecret(value, secret)) return { place: 'header', at };
      const prefix = /^[a-z0-9]{1,20}=(?=.)/i.exec(value)?.[0] ?? '';
      for (const encoding of ['hex', 'base64'] as const) {
        const given = Buffer.from(value.slice(prefix.length), encoding);
        const found = macs.find(({ mac }) => isMac(given, mac));
        if (found) return { place: 'hmac', at, encoding, prefix, ...(found.over && { over: found.over }) };
      }
    }
    const isIt = (value: unknown): boolean =>
      typeof value === 'string' && value.length === secret.bytes.length && isSecret(value, secret);
    const at = placeWhere(body, isIt);
    if (at !== undefined) return { place: 'body', at: at ?? 'under a name that is not shown' };
  }
  return { place: 'none', at: '' };
}
