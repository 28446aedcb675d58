import { CancelledFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { QuietTime } from '../../src/activities/authorized-call.js';
import { toCallTrouble } from '../../src/activities/call.js';
import { toReadTrouble } from '../../src/activities/looking.js';
import { TokenUnavailable } from '../../src/activities/token.js';
import { UnusableReply } from '../../src/contracts/unusable-reply.js';
import type { AttentionCode } from '../../src/domain/attention.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { type RideApiErrorCode, RideApiGarbled, RideApiUnreachable } from '../../src/ride-api/errors.js';
import { SealingError } from '../../src/sealing/sealer.js';
import { apiError } from './service.js';
import { start as now } from './temporal.js';

const account = toAccountName('acme');
const origin = 'https://partner.example';
const asked = { account, orderId: toOrderId('4711'), operation: 'orderStatus' } as const;
const troubleOf = (error: unknown) => toReadTrouble(error, asked, now);

describe('a look that the service refused', () => {
  const meanings: Record<RideApiErrorCode, AttentionCode> = {
    BAD_REQUEST: 'unreadableStatus',
    TOKEN_REJECTED: 'credentialsRejected',
    PAYMENT_REQUIRED: 'unreadableStatus',
    FORBIDDEN: 'forbidden',
    NOT_FOUND: 'unreadableStatus',
    ORDER_UNKNOWN: 'orderNotFound',
    UNPROCESSABLE: 'unreadableStatus',
    REFUSED: 'unreadableStatus',
    RATE_LIMITED: 'upstreamUnavailable',
    UPSTREAM_FAILED: 'upstreamUnavailable',
    REDIRECTED: 'unreadableStatus',
    ERROR_IN_SUCCESS: 'unreadableStatus',
    UNEXPECTED_STATUS: 'unreadableStatus',
  };

  it.each(Object.entries(meanings))('the refusal %s means %s', (code, meaning) => {
    const trouble = troubleOf(apiError(code as RideApiErrorCode));
    expect(trouble).toMatchObject({ code: meaning, afterMs: undefined });
    expect(trouble?.message).toMatch(new RegExp(`^upstream refused: ${code} \\(HTTP \\d{3}\\)\\. [A-Z].+\\.$`));
  });

  it.each([
    ['ORDER_UNKNOWN', ['order id 4711', 'account acme', 'operations.orderStatus.path']],
    ['FORBIDDEN', ['account acme', 'operations.orderStatus.scope']],
    ['TOKEN_REJECTED', ['account acme', 'operations.orderStatus']],
  ] as const)('the message about %s names what to check: %j', (code, parts) => {
    for (const part of parts) expect(troubleOf(apiError(code))?.message).toContain(part);
  });

  it.each(['RATE_LIMITED', 'UPSTREAM_FAILED'] as const)(
    '%s means exactly the wait that the service asks for',
    (code) => {
      expect(troubleOf(apiError(code, 17))?.afterMs).toBe(17_000);
    },
  );

  it('a token that this worker cannot unseal means: check the keys, not the credentials', () => {
    const error = new SealingError('SEALING_KEY_UNKNOWN', 'no key "k2" to open the sealed text with');
    const message = expect.stringMatching(/^no key "k2".+ FARETRAIL_SEALING_KEYS\.$/);
    expect(troubleOf(error)).toMatchObject({ code: 'credentialsRejected', message });
    expect(troubleOf(error)?.message).not.toContain('client secret');
    const ofCall = toCallTrouble(error, { account, operation: 'products' }, now, 0);
    const remedy = expect.stringContaining('FARETRAIL_SEALING_KEYS');
    expect(ofCall).toMatchObject({ type: 'Unavailable', isFinal: false, message: remedy });
  });
});

it.each([
  [new RideApiUnreachable('NO_CONNECTION', origin), 'upstreamUnavailable'],
  [new RideApiGarbled('NOT_JSON', origin, 200), 'unreadableStatus'],
  [new UnusableReply('ORDER_MISMATCH'), 'unreadableStatus'],
  // `operationRequest` throws it when the profile switches the look-up off.
  [new InvalidInput('operations.orderStatus.enabled: off'), 'unreadableStatus'],
] as const)('%s means %s, in the words of the error', (error, code) => {
  const message = expect.stringContaining(error.message);
  expect(troubleOf(error)).toMatchObject({ code, message, afterMs: undefined });
});

describe('a look without a token', () => {
  const codes = ['credentialsRejected', 'scopeRejected', 'grantRejected', 'upstreamUnavailable'] as const;
  it.each(codes)('%s keeps the words of the lease and the end of its cool-down', (code) => {
    const message = 'In the words of the lease.';
    const trouble = { code, message, afterMs: 42_000, isUnsent: true };
    expect(troubleOf(new TokenUnavailable(code, message, now + 42_000))).toEqual(trouble);
  });

  it.each([-5, 5])('a cool-down that ends in %i ms means a wait of a second', (leftMs) => {
    expect(troubleOf(new TokenUnavailable('scopeRejected', 'm', now + leftMs))?.afterMs).toBe(1_000);
  });
});

it('the quiet time of an account means a wait of exactly its length', () => {
  const trouble = { code: 'upstreamUnavailable', afterMs: 12_345, isUnsent: true };
  expect(troubleOf(new QuietTime(12_345))).toMatchObject(trouble);
});

const foreign = [new Error('a bug of ours'), new TypeError('x'), new CancelledFailure('CANCELLED'), 'text', undefined];
it.each(foreign)('Temporal repeats a look after an error that is not about the service: %s', (error) => {
  expect(troubleOf(error)).toBeUndefined();
});
