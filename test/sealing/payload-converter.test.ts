import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UndecodablePayload } from '../../src/domain/input-fields.js';
import { payloadConverter } from '../../src/sealing/payload-converter.js';
import { encrypted, misshapen, raw, undecodable } from '../support/hostile/payloads.js';

const read = (payload: Payload): unknown => payloadConverter.fromPayload(payload);
const write = (value: unknown): Payload => payloadConverter.toPayload(value);
const bytes = ({ metadata, data }: Payload) =>
  [metadata?.encoding, data].map((part) => Buffer.from(part ?? []).toString('hex'));
const readBack = (value: unknown): unknown => read(write(value));

describe('the payload converter', () => {
  it('writes the bytes of the SDK and reads them, whatever the value', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue({ maxDepth: 6 }), fc.uint8Array(), fc.constant(undefined)), (value) => {
        expect(bytes(write(value))).toEqual(bytes(defaultPayloadConverter.toPayload(value)));
        expect(readBack(value)).toEqual(defaultPayloadConverter.fromPayload(defaultPayloadConverter.toPayload(value)));
      }),
    );
  });

  it.each(Object.entries(undecodable))('gives a value that says why, for %s', (_, { payload }) => {
    const value = read(payload);
    expect(value).toBeInstanceOf(UndecodablePayload);
    expect(value).toMatchObject({ key: null, reason: expect.stringMatching(/^.{5,60}$/) });
  });

  it('says that a key is missing', async () => {
    expect(read((await encrypted(raw('{}'))).payload)).toMatchObject({ key: 'missing' });
  });

  it('passes over a byte order mark', () => {
    expect(read(misshapen['byte order mark']?.payload ?? {})).toEqual({ strange: 1 });
  });

  it('makes every text that it reads or writes well-formed', () => {
    const { payload } = raw('{"a\\ud800":["\\udfff","\\ud83d\\ude00"]}');
    expect(read(payload)).toEqual({ 'a\ufffd': ['\ufffd', '\u{1f600}'] });
    expect(readBack({ a: '\ud800', b: '\\ud800' })).toEqual({ a: '\ufffd', b: '\\ud800' });
  });
});

describe('what JSON has no word for', () => {
  const cyclic: Record<string, unknown> = { a: 1 };
  cyclic.again = cyclic;
  const deep = (levels: number): unknown => (levels === 0 ? 'end' : [deep(levels - 1)]);
  const throws = {
    b: 2n,
    get a(): string {
      throw new Error('from a getter');
    },
  };
  it.each<[string, unknown, unknown]>([
    ['a function', () => 1, null],
    ['a symbol', Symbol('s'), null],
    ['a BigInt', { a: [1n, 'b'] }, { a: ['1', 'b'] }],
    ['a cycle', cyclic, { a: 1, again: null }],
    ['a getter that throws', throws, { b: '2', a: null }],
    ['not a number', { a: Number.NaN }, { a: null }],
  ])('%s becomes what has one', (_, value, readable) => {
    expect(readBack(value)).toEqual(readable);
  });

  it.each([127, 128, 129, 1_000, 50_000])('%d levels are cut to what a reader takes', (levels) => {
    let value: unknown = 'end';
    for (let level = 0; level < levels; level += 1) value = [value];
    expect(readBack(value)).toEqual(levels <= 128 ? deep(levels) : expect.any(Array));
  });
});
