import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { ContractProfile } from '../contracts/contract-profile.js';
import type { VerifiedProof } from '../domain/subscription/subscription.js';
import type { RawDelivery } from './raw-delivery.js';

/** How deliveries prove where they come from, as the contract profile says. */
export type VerificationSettings = ContractProfile['delivery']['verification'];

/** A `secret_id` in clear, as the key of a MAC; it stays in this process. */
export type DeliverySecret = Buffer;

/** Prepares a `secret_id` as a key: its text, not what it may encode (published.md 2.1). */
export const toDeliverySecret = (secretId: string): DeliverySecret => Buffer.from(secretId);

/** The parts of a delivery that its proof is made of. */
export type Proof = Pick<RawDelivery, 'headers' | 'rawBody' | 'unpacked'>;

/** What one generation accepts. */
export interface AcceptedProof {
  secrets: readonly DeliverySecret[];
  /** We may have lost the service's answer with the secret, so the path is the only proof. */
  isSecretLost: boolean;
  /** Our keys do not open one of its secrets. */
  hasUnreadableSecret: boolean;
  /** A delivery of this generation has been verified, so mode `signed` requires a proof; null before that. */
  verified: VerifiedProof | null;
}

/**
 * `admitted`: its address is the only proof that the delivery needs.
 * `noSecretYet`: the ingress has no secret to compare with, which is not the sender's fault.
 */
export type Verdict = 'verified' | 'admitted' | 'wrongSecret' | 'noSecretYet';

/** The verdict, and the name of the header whose value proved the delivery. */
export interface Judgement {
  verdict: Verdict;
  header: string | null;
}

/** One verification mode. */
export interface Verification {
  /** False: the address, which cannot be guessed, is the only proof. */
  needsSecret: boolean;
  /** The first verified delivery of a generation makes the proof compulsory. */
  isLearned: boolean;
  /** Names of the headers of a delivery that a later check needs, in lower case. */
  headersToCheck(headers: IncomingHttpHeaders): readonly string[];
  verify(delivery: Proof, accepted: AcceptedProof): Judgement;
}

/** HMAC-SHA256 of the bytes under the secret. */
const macOf = (signed: Buffer, secret: DeliverySecret): Buffer => createHmac('sha256', secret).update(signed).digest();

const isMac = (given: Buffer, mac: Buffer): boolean => given.length === mac.length && timingSafeEqual(given, mac);

/** Makes the check that the contract profile requires. */
export function createVerification(settings: VerificationSettings): Verification {
  const { headersToCheck, findProof } = finderOf(settings);
  const isLearned = settings.mode === 'signed';
  const needsSecret = settings.mode !== 'path';
  return {
    ...{ needsSecret, isLearned, headersToCheck },
    verify(delivery, { secrets, isSecretLost, hasUnreadableSecret, verified }) {
      if (!needsSecret || isSecretLost) return { verdict: 'admitted', header: null };
      // Anybody can make the MAC of an empty key.
      const usable = secrets.filter(({ length }) => length > 0);
      const header = usable.length > 0 ? findProof(delivery, usable) : null;
      if (header !== null) return { verdict: 'verified', header };
      if (isLearned && verified === null) return { verdict: 'admitted', header };
      return { verdict: usable.length === 0 || hasUnreadableSecret ? 'noSecretYet' : 'wrongSecret', header };
    },
  };
}

interface ProofFinder {
  headersToCheck: Verification['headersToCheck'];
  /** The header that holds the MAC under one of the secrets. */
  findProof(delivery: Proof, secrets: readonly DeliverySecret[]): string | null;
}

function finderOf(settings: VerificationSettings): ProofFinder {
  switch (settings.mode) {
    case 'path':
      return { headersToCheck: () => [], findProof: () => null };
    case 'signed':
      return { headersToCheck: (headers) => signaturesIn(headers).map(({ name }) => name), findProof: findSignature };
    case 'hmac': {
      const name = settings.header.toLowerCase();
      return {
        headersToCheck: () => [name],
        findProof({ headers, rawBody, unpacked }, secrets) {
          const given = headers[name];
          if (typeof given !== 'string' || !given.startsWith(settings.prefix)) return null;
          const mac = Buffer.from(given.slice(settings.prefix.length), settings.encoding);
          const signed = settings.over === 'unpacked' ? unpacked : rawBody;
          return secrets.some((secret) => isMac(mac, macOf(signed, secret))) ? name : null;
        },
      };
    }
  }
}

/** Bounds of the search, so that no sender makes it expensive. Senders behind several proxies have some forty headers. */
const maxHeaders = 256;
const maxValueLength = 1_024;
const maxSignatures = 16;
/**
 * The published form, `sha256=` and 32 bytes in standard base64. Capitals in the prefix and a missing pad are taken too: the MAC is the
 * proof, and neither weakens it. Hexadecimal digits are not: mode `hmac` is for services that sign in another form.
 */
const signaturePattern = /^sha256=([A-Za-z0-9+/]{43})=?$/i;

interface Signature {
  /** The header's name, in lower case. */
  name: string;
  mac: Buffer;
}

/** All that look like a signature. A header that came twice arrives as one value with a comma (RFC 9110 section 5.3). */
function signaturesIn(headers: IncomingHttpHeaders): Signature[] {
  const found: Signature[] = [];
  for (const [name, value] of Object.entries(headers).slice(0, maxHeaders)) {
    const texts = [value].flat().filter((text) => typeof text === 'string' && text.length <= maxValueLength);
    for (const text of texts.flatMap((one) => String(one).split(','))) {
      const encoded = signaturePattern.exec(text.trim())?.[1];
      if (encoded === undefined) continue;
      found.push({ name, mac: Buffer.from(encoded, 'base64') });
      if (found.length === maxSignatures) return found;
    }
  }
  return found;
}

/** Computes each MAC once: of the bytes as they came, and of a compressed body unpacked. */
function findSignature({ headers, rawBody, unpacked }: Proof, secrets: readonly DeliverySecret[]): string | null {
  const given = signaturesIn(headers);
  if (given.length === 0) return null;
  const bodies = unpacked === rawBody ? [rawBody] : [rawBody, unpacked];
  const macs = secrets.flatMap((secret) => bodies.map((body) => macOf(body, secret)));
  return given.find(({ mac }) => macs.some((right) => isMac(mac, right)))?.name ?? null;
}
