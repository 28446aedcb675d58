import { Buffer } from 'node:buffer';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import protocol from '@temporalio/proto';
import { FaretrailError } from '../domain/errors.js';
import { damagedEncoding } from '../domain/input-fields.js';
import type { KeyRing, NamedKey } from './key-ring.js';

/** How payloads are encrypted. */
export interface PayloadEncryption {
  /** The first encrypts, all decrypt; null: there are none, and what is encrypted cannot be read. */
  readonly keys: KeyRing | null;
  /** False: payloads are written in clear. What is encrypted is read all the same. */
  readonly encrypts: boolean;
}

export type PayloadCodecErrorCode = 'PayloadKeyMissing' | 'PayloadDamaged';

/**
 * An encrypted payload cannot be read. `PayloadKeyMissing`: we do not hold its key, which a settings change repairs.
 * `PayloadDamaged`: altered, cut short, or encrypted with another key under the same id. The message names the key's id.
 */
export class PayloadCodecError extends FaretrailError<PayloadCodecErrorCode> {
  override readonly name = 'PayloadCodecError';
}

const { Payload: PayloadMessage } = protocol.temporal.api.common.v1;

// The form of Temporal's own encryption samples in Go, Java, Python and TypeScript, so that callers in any language can
// read and write the same: `data` is nonce, ciphertext and tag of the whole payload as protobuf, without further data.
const encoding = 'binary/encrypted';
const keyIdField = 'encryption-key-id';
/** In the metadata of what our own processes have encrypted; other programs pass over it. */
const ownField = 'faretrail';
const cipher = 'aes-256-gcm';
const nonceLength = 12; // NIST SP 800-38D section 8.2.2: random, so a key is good for 2^32 payloads
const tagLength = 16;

/** Who uses a codec. `others`: callers, and those who look at payloads. */
export type CodecUser = 'ourProcesses' | 'others';

/**
 * Encrypts whole payloads with AES-256-GCM. Reads those in clear, too, so histories may be mixed. Throws `PayloadCodecError` for
 * one that it cannot decrypt. For our own processes only if one of them has encrypted it: then all waits for the key. Our payload converter
 * decides about what another program has encrypted, so that it stops nothing but itself.
 */
export function createPayloadCodec({ keys, encrypts }: PayloadEncryption, user: CodecUser = 'others'): PayloadCodec {
  const first = encrypts ? keys?.[0] : undefined;
  const mark = user === 'ourProcesses' ? { [ownField]: Buffer.from('1') } : {};
  const decode = (payload: Payload): Payload => {
    try {
      const made = decrypt(payload, keys ?? []);
      return isEncrypted(made) ? damaged : made; // no program of ours encrypts twice
    } catch (error) {
      if (user === 'others' || payload.metadata?.[ownField]) throw error;
      return (error as PayloadCodecError).code === 'PayloadDamaged' ? damaged : payload;
    }
  };
  return {
    encode: async (payloads) => (first ? payloads.map((payload) => encrypt(payload, first, mark)) : payloads),
    decode: async (payloads) => payloads.map((payload) => (isEncrypted(payload) ? decode(payload) : payload)),
  };
}

const textOf = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('utf8');

/** Is it one that a codec of this form has made? */
const isEncrypted = ({ metadata }: Payload): boolean => textOf(metadata?.encoding) === encoding;

function encrypt(payload: Payload, { kid, key }: NamedKey, mark: Record<string, Uint8Array>): Payload {
  const nonce = randomBytes(nonceLength);
  const aes = createCipheriv(cipher, key, nonce);
  const data = Buffer.concat([
    nonce,
    aes.update(PayloadMessage.encode(payload).finish()),
    aes.final(),
    aes.getAuthTag(),
  ]);
  return { metadata: { encoding: Buffer.from(encoding), [keyIdField]: Buffer.from(kid), ...mark }, data };
}

function decrypt(payload: Payload, keys: readonly NamedKey[]): Payload {
  const kid = textOf(payload.metadata?.[keyIdField]);
  const held = keys.find((candidate) => candidate.kid === kid);
  if (!held) throw keyMissing(kid, keys);
  try {
    // A plain object: what is sent to other threads loses fields that a message class keeps in its prototype.
    const { metadata, data } = PayloadMessage.decode(open(Buffer.from(payload.data ?? []), held.key));
    return { metadata, data };
  } catch (cause) {
    throw new PayloadCodecError(
      'PayloadDamaged',
      `a payload cannot be decrypted with key "${kid}": it was altered, or others have another key under this id; compare FARETRAIL_PAYLOAD_KEYS`,
      { cause },
    );
  }
}

const damaged: Payload = { metadata: { encoding: Buffer.from(damagedEncoding) } };

function open(bytes: Buffer, key: Uint8Array): Uint8Array {
  const end = bytes.length - tagLength;
  const aes = createDecipheriv(cipher, key, bytes.subarray(0, nonceLength), { authTagLength: tagLength });
  aes.setAuthTag(bytes.subarray(end));
  return Buffer.concat([aes.update(bytes.subarray(nonceLength, end)), aes.final()]);
}

/** Shows no more of a foreign key id than a key id may look like. */
function keyMissing(kid: string, keys: readonly NamedKey[]): PayloadCodecError {
  const name = kid.replace(/[^A-Za-z0-9._-]/g, '?').slice(0, 64);
  const remedy =
    keys.length === 0
      ? 'set FARETRAIL_PAYLOAD_KEYS as the workers have it'
      : 'add it behind the others in FARETRAIL_PAYLOAD_KEYS';
  return new PayloadCodecError(
    'PayloadKeyMissing',
    `a payload is encrypted with key "${name}", which is not held: ${remedy}`,
  );
}
