import {
  ApplicationFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
  type ProtoFailure,
} from '@temporalio/common';
import protocol from '@temporalio/proto';
import { describe, expect, it } from 'vitest';
import { ContainedFailureConverter } from '../../src/sealing/contained-failures.js';
import { payloadConverter } from '../../src/sealing/payload-converter.js';

const converter = new ContainedFailureConverter();
const toFailure = (error: unknown): ProtoFailure => converter.errorToFailure(error, payloadConverter);
const { Failure } = protocol.temporal.api.failure.v1;

const cyclic: Record<string, unknown> = { big: 1n };
cyclic.self = cyclic;
const withCause = (depth: number): Error => new Error(`${depth}`, depth === 0 ? {} : { cause: withCause(depth - 1) });
const ownCause = new Error('its own');
ownCause.cause = ownCause;
const throws = {
  get message(): string {
    throw new Error('from a getter');
  },
};

describe('a thrown value', () => {
  it.each<[string, unknown]>([
    ['half of a pair in the message', new Error('Still Dri\ud800ving.')],
    ['half of a pair in the type', ApplicationFailure.nonRetryable('m', 'T\udfff')],
    ['half of a pair in the details', ApplicationFailure.nonRetryable('m', 'T', { word: '\ud800' })],
    ['half of a pair in a cause', new Error('m', { cause: new Error('\ud800') })],
    ['a pair at the cut', new Error(`${'x'.repeat(3_999)}\u{1f600}`)],
    ['a text without end', new Error('y'.repeat(3_000_000))],
    ['a text', '\ud800'],
    ['nothing', undefined],
    ['an object', cyclic],
    ['a getter that throws', throws],
    ['a message that is no text', Object.assign(new Error('x'), { message: Symbol('s') })],
    ['a stack that is no text', Object.assign(new Error('x'), { stack: 5 })],
    ['a type that is no text', ApplicationFailure.nonRetryable('m', { a: 1 } as never)],
    ['details that JSON has no word for', ApplicationFailure.nonRetryable('m', 'T', cyclic, 1n, throws)],
    ['details without end', ApplicationFailure.nonRetryable('m', 'T', 'z'.repeat(3_000_000))],
    ['a delay that is none', ApplicationFailure.create({ message: 'm', type: 'T', nextRetryDelay: Number.NaN })],
    ['causes without end', ownCause],
    ['a thousand causes', withCause(1_000)],
    ['an object without a prototype', Object.create(null)],
  ])('%s becomes a small failure of well-formed texts', (_, thrown) => {
    const failure = toFailure(thrown);
    // The core, in Rust, takes no other strings, and JSON writes half of a pair as an escape.
    expect(JSON.stringify(failure)).not.toMatch(/\\ud[89a-f]/);
    expect(Failure.encode(Failure.fromObject(failure)).finish().length).toBeLessThan(40_000);
    expect(converter.failureToError(failure, payloadConverter)).toBeInstanceOf(Error);
  });

  it('keeps what callers branch on', () => {
    const info = { type: 'Refused', nonRetryable: true };
    const failure = ApplicationFailure.create({ message: 'm', ...info, details: [{ a: 1 }] });
    const damaged = Object.assign(ApplicationFailure.create({ message: 'm', ...info }), { nextRetryDelay: Number.NaN });
    for (const one of [failure, damaged])
      expect(toFailure(one)).toMatchObject({ message: 'm', applicationFailureInfo: info });
  });

  it('becomes what the SDK makes of a usual error', () => {
    const cause = new Error('why');
    const usual = ApplicationFailure.create({ message: 'm', type: 'T', details: [{ a: [1] }], cause });
    const bytes = (failure: ProtoFailure) => Buffer.from(Failure.encode(Failure.fromObject(failure)).finish());
    const sdk = defaultFailureConverter.errorToFailure(usual, defaultPayloadConverter);
    expect(bytes(toFailure(usual))).toEqual(bytes(sdk));
  });

  it('puts messages of all causes into payloads where they are to be encrypted', () => {
    const encoding = new ContainedFailureConverter({ encodeCommonAttributes: true });
    const error = new Error('secret\ud800', { cause: new Error('inner secret') });
    const failure = encoding.errorToFailure(error, payloadConverter);
    expect(failure).toMatchObject({ message: 'Encoded failure', cause: { message: 'Encoded failure' } });
    expect(payloadConverter.fromPayload(failure.encodedAttributes ?? {})).toMatchObject({ message: 'secret\ufffd' });
  });
});
