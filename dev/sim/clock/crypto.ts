// Replaces `node:crypto`: what simulated processes draw at random depends only on the seed.
import { currentProcess } from './process.js';

const real = process.getBuiltinModule('node:crypto'); // an import would be this file

export const { createCipheriv, createDecipheriv, createHash, createHmac, hash, hkdfSync, timingSafeEqual } = real;

export function randomBytes(size: number): Buffer {
  const owner = currentProcess();
  return owner
    ? Buffer.from(Array.from({ length: size }, () => owner.scheduler.between(0, 256)))
    : real.randomBytes(size);
}

export function randomUUID(): ReturnType<typeof real.randomUUID> {
  const hex = randomBytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

export const randomInt = (from: number, to: number): number =>
  currentProcess()?.scheduler.between(from, to) ?? real.randomInt(from, to);
