import { Buffer } from 'node:buffer';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidInput, withPayloadKeys } from '../../src/client/index.js';
import { UndecodablePayload } from '../../src/domain/input-fields.js';
import { placeOfLongNumber } from '../../src/domain/json.js';
import { type KeyRing, parseKeyRing } from '../../src/sealing/key-ring.js';
import { createPayloadCodec } from '../../src/sealing/payload-codec.js';
import { clientPayloadConverter, payloadConverter } from '../../src/sealing/payload-converter.js';
import { encodedKey } from '../settings/env.js';
import { forAny } from '../support/for-any.js';
import { misshapen, raw, undecodable } from '../support/hostile/payloads.js';

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
    const message = Buffer.from('\n\x16\n\bencoding\x12\njson/plain\x12\x04"hi"');
    const nonce = Buffer.alloc(12, 7);
    const key = await crypto.subtle.importKey('raw', Buffer.alloc(32, 1), 'AES-GCM', false, ['encrypt']);
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv: nonce }, key, message);
    const metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('p1') };
    const data = Buffer.concat([nonce, Buffer.from(sealed)]);
    expect(valueIn(await first(codecWith(p1).decode([{ metadata, data }])))).toBe('hi');
  });

  it('leaves what is in clear as it is, so that histories may be mixed, and writes in clear with keys alone', async () => {
    const plain = clear({ a: 1 });
    const encrypted = await first(codecWith(p1).encode([clear('b')]));
    for (const reading of [codecWith(p1), codecWith(p1, false)])
      expect((await reading.decode([plain, encrypted])).map(valueIn)).toEqual([{ a: 1 }, 'b']);
    expect(await codecWith(null).decode([plain])).toEqual([plain]);
    expect(await codecWith(p1, false).encode([plain])).toEqual([plain]);
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

  it('shows no strange characters of a key id', async () => {
    const metadata = { encoding: Buffer.from('binary/encrypted'), 'encryption-key-id': Buffer.from('a\nb\u001b[31m') };
    const attempt = codecWith(p1).decode([{ metadata, data: Buffer.alloc(40) }]);
    await expect(attempt).rejects.toMatchObject({ message: expect.stringContaining('key "a?b??31m"') });
  });
});

describe('the codec of our own processes', () => {
  const ours = (keys: string) => createPayloadCodec({ keys: ringOf(keys), encrypts: true }, 'ourProcesses');

  it('marks what it encrypts, reads it like others, and fails while its key is missing or another one', async () => {
    const made = await first(ours(p1).encode([clear('x')]));
    expect(Object.keys(made.metadata ?? {}).sort()).toEqual(['encoding', 'encryption-key-id', 'faretrail']);
    expect(valueIn(await first(codecWith(p1).decode([made])))).toBe('x');
    await expect(ours(p2).decode([made])).rejects.toMatchObject({ code: 'PayloadKeyMissing' });
    await expect(ours(`p1:${encodedKey(2)}`).decode([made])).rejects.toMatchObject({ code: 'PayloadDamaged' });
  });

  it('passes on what another program encrypted and it cannot decrypt; a run waits for the key, and a client does not', async () => {
    const made = await first(codecWith(p1).encode([clear('x')]));
    const seenWith = async (keys: string) => await first(ours(keys).decode([made]));
    const waiting = await seenWith(p2);
    expect(() => payloadConverter.fromPayload(waiting)).toThrow(/a key that is not held/);
    expect(clientPayloadConverter.fromPayload(waiting)).toBeInstanceOf(UndecodablePayload);
    expect(payloadConverter.fromPayload(await seenWith(p1))).toBe('x');
    const damaged = await seenWith(`p1:${encodedKey(2)}`);
    const [twice = {}] = await ours(p1).decode(await codecWith(p1).encode([made]));
    for (const payload of [damaged, twice])
      expect(payloadConverter.fromPayload(payload)).toMatchObject({ reason: expect.stringMatching(/^encrypted, and/) });
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

  it('refuses malformed keys without repeating them', () => {
    const make = () => withPayloadKeys('p1:tooshort');
    expect(make).toThrow(InvalidInput);
    expect(make).toThrow(/^(?!.*tooshort).*entry 1 must hold 32 bytes/);
  });
});

const read = (payload: Payload): unknown => payloadConverter.fromPayload(payload);
const write = (value: unknown): Payload => payloadConverter.toPayload(value);
const bytes = ({ metadata, data }: Payload) =>
  [metadata?.encoding, data].map((part) => Buffer.from(part ?? []).toString('hex'));

describe('the payload converter', () => {
  it('writes the bytes of the SDK and reads them, whatever the value', () => {
    forAny(fc.oneof(fc.jsonValue({ maxDepth: 6 }), fc.uint8Array(), fc.constant(undefined)), (value) => {
      fc.pre(placeOfLongNumber(value) === undefined);
      const payload = defaultPayloadConverter.toPayload(value);
      expect(bytes(write(value))).toEqual(bytes(payload));
      expect(read(payload)).toEqual(defaultPayloadConverter.fromPayload(payload));
    });
  });

  it.each(Object.entries(undecodable))('gives a value that says why, for %s', (_, { payload }) => {
    const value = read(payload);
    expect(value).toBeInstanceOf(UndecodablePayload);
    expect(value).toMatchObject({ reason: expect.stringMatching(/^.{5,60}$/) });
  });

  it('passes over a byte order mark', () => {
    expect(read(misshapen['byte order mark']?.payload ?? {})).toEqual({ strange: 1 });
  });

  it('keeps the digits of a number that another language wrote', () => {
    expect(read(raw('{"orderId":12345678901234567890}').payload)).toEqual({ orderId: '12345678901234567890' });
  });

  it('makes every text that it reads well-formed', () => {
    const { payload } = raw('{"a\\ud800":["\\udfff","\\ud83d\\ude00"]}');
    expect(read(payload)).toEqual({ 'a\ufffd': ['\ufffd', '\u{1f600}'] });
    expect(read(write({ a: '\ud800', b: '\\ud800' }))).toEqual({ a: '\ufffd', b: '\\ud800' });
  });
});
