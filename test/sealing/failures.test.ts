import {
  ApplicationFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
  type FailureConverter,
  type ProtoFailure,
} from '@temporalio/common';
import protocol from '@temporalio/proto';
import { expect, it } from 'vitest';
import { failureConverter as encoding } from '../../src/sealing/encoded-failures.js';
import { payloadConverter } from '../../src/sealing/payload-converter.js';
import { failureConverter as plain } from '../../src/sealing/plain-failures.js';

const toFailure = (error: unknown, converter: FailureConverter = plain): ProtoFailure =>
  converter.errorToFailure(error, payloadConverter);
const { Failure } = protocol.temporal.api.failure.v1;
const bytesOf = (failure: ProtoFailure) => Buffer.from(Failure.encode(Failure.fromObject(failure)).finish());

const withCause = (depth: number): Error => new Error(`${depth}`, depth === 0 ? {} : { cause: withCause(depth - 1) });
const ownCause = new Error('its own');
ownCause.cause = ownCause;

it.each<[string, unknown]>([
  ['half of a pair in the message', new Error('Still Dri\ud800ving.')],
  ['half of a pair in the type', ApplicationFailure.nonRetryable('m', 'T\udfff')],
  ['half of a pair in a cause', new Error('m', { cause: new Error('\ud800') })],
  ['a text instead of an error', '\ud800'],
  ['a cause that is its own', ownCause],
  ['a hundred causes', withCause(100)],
  ['details that JSON has no word for', ApplicationFailure.nonRetryable('m', 'T', 1n)],
])('of an error with %s comes a small failure of well-formed texts', (_, thrown) => {
  const failure = toFailure(thrown);
  // The core, in Rust, takes no other strings, and JSON writes half of a pair as an escape.
  expect(JSON.stringify(failure)).not.toMatch(/\\ud[89a-f]/);
  expect(bytesOf(failure).length).toBeLessThan(40_000);
  expect(plain.failureToError(failure, payloadConverter)).toBeInstanceOf(Error);
});

it('a usual error becomes what the SDK makes of it', () => {
  const cause = new Error('why');
  const usual = ApplicationFailure.create({ message: 'm', type: 'T', details: [{ a: [1] }], cause });
  const sdk = defaultFailureConverter.errorToFailure(usual, defaultPayloadConverter);
  expect(bytesOf(toFailure(usual))).toEqual(bytesOf(sdk));
});

it('messages of all causes are put into payloads where they are to be encrypted', () => {
  const failure = toFailure(new Error('secret\ud800', { cause: new Error('inner secret') }), encoding);
  expect(failure).toMatchObject({ message: 'Encoded failure', cause: { message: 'Encoded failure' } });
  expect(payloadConverter.fromPayload(failure.encodedAttributes ?? {})).toMatchObject({ message: 'secret\ufffd' });
});
