import { CancelledFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { QuietTime } from '../../src/activities/authorized-call.js';
import { toCallTrouble } from '../../src/activities/call.js';
import { toReadTrouble } from '../../src/activities/looking.js';
import { TokenUnavailable } from '../../src/activities/token-source.js';
import { UnusableReply, type UnusableReplyCode } from '../../src/contracts/unusable-reply.js';
import type { AttentionCode } from '../../src/domain/attention.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import {
  type GarbledCode,
  type RideApiErrorCode,
  RideApiGarbled,
  RideApiUnreachable,
  type UnreachableCode,
} from '../../src/ride-api/errors.js';
import { SealingError } from '../../src/sealing/sealer.js';
import { apiError } from './api-errors.js';

const account = toAccountName('acme');
const now = Date.parse('2031-05-01T10:00:00.000Z');
const origin = 'https://partner.example';
const lookup = { orderId: toOrderId('4711'), operation: 'orderStatus' };
const troubleOf = (error: unknown) => toReadTrouble(error, { account, lookup }, now);

describe('a refusal of the service means', () => {
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

  it.each(Object.entries(meanings))('%s: %s', (code, meaning) => {
    const trouble = troubleOf(apiError(code as RideApiErrorCode));
    expect(trouble).toMatchObject({ code: meaning, afterMs: undefined });
    expect(trouble?.message).toMatch(new RegExp(`^upstream refused: ${code} \\(HTTP \\d{3}\\)\\. [A-Z].+\\.$`));
  });

  it('ORDER_UNKNOWN: the order id, the account and the path to check', () => {
    const { message } = troubleOf(apiError('ORDER_UNKNOWN')) ?? {};
    for (const part of ['4711', 'account acme', 'operations.orderStatus.path']) expect(message).toContain(part);
  });

  it.each(['RATE_LIMITED', 'UPSTREAM_FAILED'] as const)('%s: the wait it asks for, exactly', (code) => {
    expect(troubleOf(apiError(code, 17))?.afterMs).toBe(17_000);
  });

  it('a token that this worker cannot open: the keys to look at, and not the credentials', () => {
    const error = new SealingError('SEALING_KEY_UNKNOWN', 'no key "k2" to open the sealed text with');
    const message = expect.stringMatching(/^no key "k2".+ FARETRAIL_SEALING_KEYS\.$/);
    expect(troubleOf(error)).toMatchObject({ code: 'credentialsRejected', message });
    expect(troubleOf(error)?.message).not.toContain('client secret');
    const ofCall = toCallTrouble(error, { account, operation: 'products' }, { now, backOffMs: 0 });
    const remedy = expect.stringContaining('FARETRAIL_SEALING_KEYS');
    expect(ofCall).toMatchObject({ type: 'Unavailable', isFinal: false, message: remedy });
  });

  it.each(['FORBIDDEN', 'TOKEN_REJECTED'] as const)('%s: a remedy that names the account', (code) => {
    expect(troubleOf(apiError(code))?.message).toContain('account acme');
  });
});

describe('no answer means that the service is unavailable', () => {
  const codes: Record<UnreachableCode, true> = {
    CONNECT_TIMEOUT: true,
    HEADERS_TIMEOUT: true,
    BODY_TIMEOUT: true,
    TOTAL_TIMEOUT: true,
    CONNECTION_REFUSED: true,
    CONNECTION_LOST: true,
    DNS: true,
    TLS: true,
    CLOSED: true,
    NETWORK: true,
  };
  it.each(Object.keys(codes) as UnreachableCode[])('%s', (code) => {
    const trouble = troubleOf(new RideApiUnreachable(code, origin));
    expect(trouble).toMatchObject({ code: 'upstreamUnavailable', afterMs: undefined });
    expect(trouble?.message).toContain(code);
  });
});

describe('an answer that cannot be read means that the status is unreadable', () => {
  const garbled: Record<GarbledCode, true> = {
    NOT_JSON: true,
    TOO_DEEP: true,
    TOO_MANY: true,
    AMBIGUOUS: true,
    TOO_LARGE: true,
    ENCODING: true,
    NOT_HTTP: true,
  };
  const unusable: Record<UnusableReplyCode, true> = {
    UNREADABLE_STATUS: true,
    ORDER_MISMATCH: true,
    NO_ORDER_ID: true,
    NO_TOKEN: true,
    WRONG_TOKEN_TYPE: true,
    SCOPE_NOT_GRANTED: true,
  };
  it.each([
    ...(Object.keys(garbled) as GarbledCode[]).map((code) => new RideApiGarbled(code, origin, 200)),
    ...(Object.keys(unusable) as UnusableReplyCode[]).map((code) => new UnusableReply(code)),
  ])('%s', (error) => {
    expect(troubleOf(error)).toMatchObject({ code: 'unreadableStatus', afterMs: undefined });
    expect(troubleOf(error)?.message).toContain(error.code);
  });
});

describe('no token means', () => {
  const codes = ['credentialsRejected', 'scopeRejected', 'grantRejected', 'upstreamUnavailable'] as const;
  it.each(codes)('%s in the words of the lease, to be asked again when its cool-down ends', (code) => {
    const message = 'In the words of the lease.';
    const trouble = { code, message, afterMs: 42_000, isUnsent: true };
    expect(troubleOf(new TokenUnavailable(code, message, now + 42_000))).toEqual(trouble);
  });

  it.each([-5, 5])('a wait of a second at least, with a cool-down that ends in %i ms', (leftMs) => {
    expect(troubleOf(new TokenUnavailable('scopeRejected', 'm', now + leftMs))?.afterMs).toBe(1_000);
  });
});

it('keeps to the quiet time of the account exactly', () => {
  const trouble = { code: 'upstreamUnavailable', afterMs: 12_345, isUnsent: true };
  expect(troubleOf(new QuietTime(12_345))).toMatchObject(trouble);
});

const foreign = [
  new Error('a bug of ours'),
  new TypeError('x'),
  new CancelledFailure('CANCELLED'),
  'text',
  null,
  undefined,
];
it.each(foreign)('what is not about the service is left to Temporal: %s', (error) => {
  expect(troubleOf(error)).toBeUndefined();
});

// Thrown by `operationRequest` when the profile switches the look-up off.
it('a person hears of a request that the contract profile makes impossible', () => {
  const error = new InvalidInput('operations.orderStatus.enabled: off');
  expect(troubleOf(error)).toMatchObject({ code: 'unreadableStatus' });
});
