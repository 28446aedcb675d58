import { describe, expect, it } from 'vitest';
import { readErrorBody } from '../../src/contracts/error-body.js';
import { toRideApiError } from '../../src/ride-api/refusal.js';
import codes from '../fixtures/published/business-reference-codes-response.json' with { type: 'json' };
import validation from '../fixtures/published/error-envelope-400.json' with { type: 'json' };
import login from '../fixtures/published/error-envelope-401-login.json' with { type: 'json' };
import token from '../fixtures/published/error-envelope-401-token.json' with { type: 'json' };

const { errors } = codes;
const requestId = '2c1b0a99-9999-4f8e-8d7c-6b5a49382716';

describe('the words of an error body', () => {
  it.each<[object, string | null, string | null, string[]]>([
    [
      ...([{ errors }, 'reference_code_invalid'] as const),
      'Reference code validation failed (value: Code valid characters are letters and 0-9)',
      ['value', 'reference_code_invalid_format'],
    ],
    [{ errors: [{ title: 'First' }, { code: 'second', title: 'Second' }] }, 'second', 'First; Second', []],
    [validation, 'VALIDATION_ERROR', 'Required fields are missing (stops: is missing)', ['stops']],
    [login, 'INVALID_CREDENTIALS', 'Invalid client credentials provided', []],
    [token, 'TOKEN_EXPIRED', 'The access token has expired', []],
    [{ message: 'No such order' }, null, 'No such order', []],
    [{ error: 'not_found', message: 'No such order' }, 'not_found', 'No such order', []],
    [{ error: 'Not Found', message: 'No such order' }, null, 'No such order', []],
    [{ error: 'invalid_client', error_description: 'Who?' }, 'invalid_client', 'Who?', []],
    [{ message: 'a\u001b[31m\nb\u202e' }, null, 'a [31m b', []],
    [{ errors: [] }, null, null, []],
    [{ errors: ['text', null, 7], message: 'lost' }, null, null, []],
    [{ errors: [{ code: 'a b', field_errors: [{ field: '15550100', title: 7 }, 'x', {}] }] }, null, null, []],
  ])('of %j are found in each form', (body, code, message, fields) => {
    expect(readErrorBody(body)).toEqual({ code, message, fields, requestId: body === validation ? requestId : null });
  });

  it('are bounded, however many errors there are', () => {
    const many = Array.from({ length: 500 }, (_, i) => ({
      code: `c${i}`,
      title: 'T'.repeat(5_000),
      field_errors: Array.from({ length: 100 }, (__, j) => ({ field: `f${i}-${j}`, code: 'c' })),
    }));
    const { fields, message } = readErrorBody({ errors: many });
    expect(fields.length).toBeLessThanOrEqual(10);
    expect(message?.length).toBeLessThan(10_000);
    const error = toRideApiError(
      { status: 422, headers: {}, body: { errors: many } },
      { now: 0, maxWaitMs: 1_000, secrets: [], phones: [] },
    );
    expect(error.upstreamMessage?.length).toBeLessThanOrEqual(200);
    expect(error.message.length).toBeLessThan(1_000);
  });

  it('stand in the error, the message for the caller alone', () => {
    const terms = { now: 0, maxWaitMs: 1_000, secrets: ['reference_code_invalid'], phones: [] };
    const error = toRideApiError({ status: 422, headers: {}, body: { errors } }, { ...terms, secrets: [] });
    expect(error.message).toContain('HTTP 422, reference_code_invalid, about value reference_code_invalid_format');
    expect(error.message).not.toContain('letters');
    expect(error.upstreamMessage).toMatch(/^Reference code validation failed \(value: /);
    const kept = toRideApiError({ status: 422, headers: {}, body: { errors } }, terms);
    expect([kept.upstreamCode, kept.upstreamFields]).toEqual([null, ['value']]);
  });
});
