import { Buffer } from 'node:buffer';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidInput, withPayloadKeys } from '../../src/client/index.js';
import { type KeyRing, parseKeyRing } from '../../src/sealing/key-ring.js';
import { createPayloadCodec } from '../../src/sealing/payload-codec.js';
import { payloadConverter } from '../../src/sealing/payload-converter.js';
import { encodedKey } from '../settings/env.js';

function ringOf(text: string): KeyRing {
  const parsed = parseKeyRing(text);
  if ('problems' in parsed) throw new Error(parsed.problems.join());
  return parsed.ring;
}

const [p1, p2] = [`p1:${encodedKey(1)}`, `p2:${encodedKey(2)}`];
const codecWith = (keys: string | null, encrypts = true) =>
  createPayloadCodec({ keys: keys === null ? null : ringOf(keys), encrypts });
const clear = (value: unknown): Payload => defaultPayloadConverter.toPayload(value) as Payload;
const first = async (payloads: Promise<Payload[]>): Promise<Payload> => (await payloads)[0] as Payload;
const valueIn = (payload: Payload): unknown => defaultPayloadConverter.fromPayload(payload);

describe('a payload codec', () => {
  it('gives back what it has encrypted, whatever that is, and shows nothing of it', async () => {
    const codec = codecWith(p1);
    const metadata = fc.dictionary(fc.string({ maxLength: 10 }), fc.uint8Array());
    await fc.assert(
      fc.asyncProperty(metadata, fc.uint8Array({ minLength: 8, maxLength: 200 }), async (fields, data) => {
        const made = await first(codec.encode([{ metadata: fields, data }]));
        expect(Buffer.from(made.data ?? []).includes(Buffer.from(data))).toBe(false);
        const read = await first(codec.decode([made]));
        expect(Buffer.from(read.data ?? [])).toEqual(Buffer.from(data));
        expect(Object.keys(read.metadata ?? {}).sort()).toEqual(Object.keys(fields).sort());
      }),
    );
  });

  it('marks what it has encrypted as the samples of Temporal do, and never twice the same', async () => {
    const [one, other] = await codecWith(p1).encode([clear('same'), clear('same')]);
    const texts = Object.entries(one?.metadata ?? {}).map(([name, bytes]) => [name, Buffer.from(bytes).toString()]);
    expect(Object.fromEntries(texts)).toEqual({ encoding: 'binary/encrypted', 'encryption-key-id': 'p1' });
    expect(one?.data).not.toEqual(other?.data);
  });

  it('reads what a program in another language writes after the samples of Temporal', async () => {
    // A `Payload` as protobuf by hand: metadata {"encoding": "json/plain"} and data "hi" in quotes, sealed by another library.
    const entry = Buffer.concat([field(1, 'encoding'), field(2, 'json/plain')]);
    const message = Buffer.concat([field(1, entry), field(2, '"hi"')]);
    const nonce = Buffer.alloc(12, 7);
    const key = await crypto.subtle.importKey('raw', Buffer.alloc(32, 1), 'AES-GCM', false, ['encrypt']);
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv: nonce }, key, message);
    const metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('p1') };
    const data = Buffer.concat([nonce, Buffer.from(sealed)]);
    expect(valueIn(await first(codecWith(p1).decode([{ metadata, data }])))).toBe('hi');
  });

  it('leaves what is in clear as it is, so that histories may be mixed', async () => {
    const plain = clear({ a: 1 });
    const encrypted = await first(codecWith(p1).encode([clear('b')]));
    expect((await codecWith(p1).decode([plain, encrypted])).map(valueIn)).toEqual([{ a: 1 }, 'b']);
    expect(await codecWith(null).decode([plain])).toEqual([plain]);
  });

  it('with keys alone reads, and writes in clear', async () => {
    const reading = codecWith(p1, false);
    const plain = clear('c');
    expect(await reading.encode([plain])).toEqual([plain]);
    expect(valueIn(await first(reading.decode(await codecWith(p1).encode([plain]))))).toBe('c');
  });

  it('encrypts with the first key and reads with all, so that keys can be changed', async () => {
    const old = await codecWith(p1).encode([clear('old')]);
    const made = await codecWith(`${p2},${p1}`).encode([clear('new')]);
    expect((await codecWith(`${p2},${p1}`).decode([...old, ...made])).map(valueIn)).toEqual(['old', 'new']);
    expect(valueIn(await first(codecWith(p2).decode(made)))).toBe('new');
  });
});

describe('a payload that cannot be read', () => {
  it.each([
    [p2, /key "p1", which is not held: add it behind the others in FARETRAIL_PAYLOAD_KEYS/],
    [null, /key "p1", which is not held: set FARETRAIL_PAYLOAD_KEYS/],
  ])('says which key is missing, and what to do: %#', async (keys, message) => {
    const made = await codecWith(p1).encode([clear('x')]);
    const attempt = codecWith(keys, false).decode(made);
    await expect(attempt).rejects.toMatchObject({ code: 'PayloadKeyMissing', message: expect.stringMatching(message) });
  });

  it('is damaged when its key is another one under the same id, or any of its bits has changed', async () => {
    const made = await first(codecWith(p1).encode([clear('x')]));
    const damaged = expect.objectContaining({ code: 'PayloadDamaged', message: expect.stringContaining('"p1"') });
    await expect(codecWith(`p1:${encodedKey(2)}`).decode([made])).rejects.toEqual(damaged);
    const bytes = Buffer.from(made.data ?? []);
    for (const at of bytes.keys()) {
      const data = Buffer.from(bytes);
      data[at] = (data[at] ?? 0) ^ 1;
      await expect(codecWith(p1).decode([{ ...made, data }])).rejects.toEqual(damaged);
    }
    for (const length of [0, 5, 27, bytes.length - 1])
      await expect(codecWith(p1).decode([{ ...made, data: bytes.subarray(0, length) }])).rejects.toEqual(damaged);
  });

  it('shows nothing of a key id that is none', async () => {
    const metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('a\nb\u001b[31m') };
    const attempt = codecWith(p1).decode([{ metadata, data: Buffer.alloc(40) }]);
    await expect(attempt).rejects.toMatchObject({ message: expect.stringContaining('key "a?b??31m"') });
  });
});

describe('the codec of our own processes', () => {
  const ours = (keys: string) => createPayloadCodec({ keys: ringOf(keys), encrypts: true }, 'ourProcesses');

  it('marks what it encrypts, which others pass over, and waits for a key of its own kind', async () => {
    const made = await first(ours(p1).encode([clear('x')]));
    expect(Object.keys(made.metadata ?? {}).sort()).toEqual(['encoding', 'encryption-key-id', 'faretrail']);
    expect(valueIn(await first(codecWith(p1).decode([made])))).toBe('x');
    await expect(ours(p2).decode([made])).rejects.toMatchObject({ code: 'PayloadKeyMissing' });
    await expect(ours(`p1:${encodedKey(2)}`).decode([made])).rejects.toMatchObject({ code: 'PayloadDamaged' });
  });

  it('passes on what a stranger encrypted and it cannot read: the converter says why', async () => {
    const made = await first(codecWith(p1).encode([clear('x')]));
    const seenWith = async (keys: string) => payloadConverter.fromPayload(await first(ours(keys).decode([made])));
    expect(await seenWith(p2)).toMatchObject({ key: 'missing' });
    expect(await seenWith(`p1:${encodedKey(2)}`)).toMatchObject({ key: 'damaged' });
    const [twice = {}] = await codecWith(p1).encode([made]);
    expect(payloadConverter.fromPayload(await first(ours(p1).decode([twice])))).toMatchObject({ key: 'damaged' });
    expect(await seenWith(p1)).toBe('x');
  });
});

describe('the data converter for callers', () => {
  it('reads and writes with the keys of the workers', async () => {
    const [codec] = withPayloadKeys(`${p2},${p1}`).payloadCodecs ?? [];
    const made = (await codec?.encode([clear('x')])) ?? [];
    expect(valueIn(await first(codecWith(p2).decode(made)))).toBe('x');
    const [reading] = withPayloadKeys(p1, { encrypts: false }).payloadCodecs ?? [];
    expect(await reading?.encode([clear('x')])).toEqual([clear('x')]);
  });

  it('refuses keys that are none without repeating them', () => {
    const make = () => withPayloadKeys('p1:tooshort');
    expect(make).toThrow(InvalidInput);
    expect(make).toThrow(/^(?!.*tooshort).*entry 1 must hold 32 bytes/);
  });
});

/** A field of bytes in protobuf's wire format, shorter than 128 bytes. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}
