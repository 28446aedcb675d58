import { randomBytes } from 'node:crypto';
import { type Payload, RawValue } from '@temporalio/common';
import { createNamedKey } from '../../../src/sealing/key-ring.js';
import { type CodecUser, createPayloadCodec } from '../../../src/sealing/payload-codec.js';

/** An argument that a client sends as it is. */
export const raw = (data: Uint8Array | string | null, metadata: Record<string, string> = { encoding: 'json/plain' }) =>
  RawValue.fromPayload({
    metadata: Object.fromEntries(Object.entries(metadata).map(([name, text]) => [name, Buffer.from(text)])),
    ...(data === null ? {} : { data: Buffer.from(data) }),
  });

/** What no program of ours can decode, whatever its key. */
export const undecodable: Record<string, RawValue> = {
  'garbage bytes': raw(randomBytes(64)),
  'empty data': raw(''),
  'no data': raw(null),
  NaN: raw('{"account":NaN}'),
  'no encoding': raw('{}', {}),
  'unknown encoding': raw('{}', { encoding: 'json/strange' }),
  'json/protobuf': raw('{}', { encoding: 'json/protobuf', messageType: 'shop.Order' }),
  'truncated JSON': raw('{"account":"partner"'),
  'bad UTF-8': raw(Buffer.from([0x22, 0xff, 0xc0, 0x22])),
  'deep nesting': raw(`${'['.repeat(10_000)}${']'.repeat(10_000)}`),
};

/** What is read, and has the shape of no message. */
export const misshapen: Record<string, RawValue> = {
  'byte order mark': raw('\uFEFF{"strange":1}'),
  text: raw('"text"'),
  list: raw('[1,[2]]'),
  'wrong fields': raw('{"carried":{},"lease":5,"account":{"a":1},"urls":"x"}'),
  'lone surrogate': raw('{"account":"\\ud800","\\udfff":"\\ud800"}'),
  'binary/plain': raw(randomBytes(64), { encoding: 'binary/plain' }),
  '1.9 MB': raw(JSON.stringify('x'.repeat(1_900_000))),
};

/** What this user of the codec has encrypted, by default with a key that no other program holds. */
export async function encrypted(
  value: RawValue,
  user: CodecUser = 'others',
  key = createNamedKey('theirs', randomBytes(32)),
): Promise<RawValue> {
  const [payload] = await createPayloadCodec({ keys: [key], encrypts: true }, user).encode([value.payload as Payload]);
  return RawValue.fromPayload(payload as Payload);
}
