import { keyRecipe, withHidden } from '../sealing/key-ring.js';
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

/** Where the codec endpoint listens, and whom it answers. */
export interface CodecSettings {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Of the pages that may ask, such as `https://temporal.example.com`: those of the Temporal UI. */
  readonly origins: readonly string[];
  /** What callers must show as a bearer token; null: nothing. Not enumerable. */
  readonly token: string | null;
}

const hostName = 'FARETRAIL_CODEC_HOST';
const tokenName = 'FARETRAIL_CODEC_TOKEN';
const originsName = 'FARETRAIL_CODEC_ORIGINS';

/** The UI of a local server, by both of its names. */
const localUi = ['http://localhost:8233', 'http://127.0.0.1:8233'];
/** RFC 6750 section 2.1; too long to be guessed. */
const tokenPattern = /^[A-Za-z0-9._~+/=-]{32,512}$/;
const tokenRule = 'must have 32 to 512 letters, digits, ".", "_", "~", "+", "/", "=" or "-"';

/** Reads `FARETRAIL_CODEC_*`. */
export function readCodecSettings(read: EnvReader): CodecSettings {
  const host =
    read.matching(hostName, /^[A-Za-z0-9.:_-]{1,253}$/, 'must be a host name or an IP address') ?? '127.0.0.1';
  if (!isLoopback(host) && !read.isSecretSet(tokenName))
    read.refuse(tokenName, `missing; without one everybody who reaches ${hostName} can have payloads decrypted`);
  const settings = { host, port: read.port('FARETRAIL_CODEC_PORT') ?? 8481, origins: readOrigins(read) };
  return Object.freeze(withHidden(settings, 'token', readToken(read) ?? null));
}

/** `localhost` may be made to mean something else. */
const isLoopback = (host: string): boolean => /^(127(\.\d{1,3}){3}|::1)$/.test(host);

function readToken(read: EnvReader): string | undefined {
  const found = read.secret(tokenName);
  if (found === undefined || tokenPattern.test(found.value)) return found?.value;
  return read.refuse(found.setBy, `the token ${tokenRule}`);
}

function readOrigins(read: EnvReader): readonly string[] {
  const rule = 'must be an origin such as https://temporal.example.com';
  return Object.freeze(read.list(originsName, (entry) => (isOrigin(entry) ? null : rule)) ?? localUi);
}

const isOrigin = (text: string): boolean =>
  /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
