import { CancelledFailure } from '@temporalio/common';
import { expect, it } from 'vitest';
import { QuietTime } from '../../src/activities/authorized-call.js';
import { toCallTrouble } from '../../src/activities/call.js';
import { toReadTrouble } from '../../src/activities/looking.js';
import { TokenUnavailable } from '../../src/activities/token.js';
import { UnusableReply } from '../../src/contracts/unusable-reply.js';
import type { TroubleCode } from '../../src/domain/attention.js';
import { InvalidInput } from '../../src/domain/errors.js';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { type RideApiErrorCode, RideApiGarbled, RideApiUnreachable } from '../../src/ride-api/errors.js';
import { SealingError } from '../../src/sealing/sealer.js';
import { apiError, apiErrorCodes } from './service.js';
import { start as now } from './temporal.js';

const account = toAccountName('acme');
const origin = 'https://partner.example';
const asked = { account, orderId: toOrderId('4711'), operation: 'orderStatus' } as const;
const troubleOf = (error: unknown) => toReadTrouble(error, asked);

const meanings: Partial<Record<RideApiErrorCode, [TroubleCode, names: string[]]>> = {
  TOKEN_REJECTED: ['credentialsRejected', ['account acme', 'operations.orderStatus']],
  FORBIDDEN: ['forbidden', ['account acme', 'operations.orderStatus.scope']],
  ORDER_UNKNOWN: [
    'orderNotFound',
    ['order id 4711', 'account acme', 'operations.orderStatus.path', '/v1/private/orders/{order_id}'],
  ],
  RATE_LIMITED: ['upstreamUnavailable', []],
  UPSTREAM_FAILED: ['upstreamUnavailable', []],
};
it.each(apiErrorCodes)('a look that the service refused with %s names what a person can check', (code) => {
  const [meaning, names] = meanings[code] ?? ['unreadableStatus', ['operations.orderStatus']];
  const trouble = troubleOf(apiError(code));
  expect(trouble).toMatchObject({ code: meaning, afterMs: undefined });
  expect(trouble?.message).toMatch(new RegExp(`^upstream refused: ${code} \\(HTTP \\d{3}\\)\\. [A-Z].+\\.$`));
  for (const name of names) expect(trouble?.message).toContain(name);
});

it.each<readonly [Error, object]>([
  [new RideApiUnreachable('NO_CONNECTION', origin), { code: 'upstreamUnavailable' }],
  [new RideApiGarbled('NOT_JSON', origin, 200), { code: 'unreadableStatus' }],
  [new UnusableReply('ORDER_MISMATCH'), { code: 'unreadableStatus' }],
  // `operationRequest` throws it when the profile switches the look-up off.
  [new InvalidInput('operations.orderStatus.enabled: off'), { code: 'unreadableStatus' }],
  [apiError('RATE_LIMITED', 17), { code: 'upstreamUnavailable', afterMs: 17_000 }],
  [apiError('UPSTREAM_FAILED', 17), { code: 'upstreamUnavailable', afterMs: 17_000 }],
  [new QuietTime(12_345), { code: 'upstreamUnavailable', afterMs: 12_345, isUnsent: true }],
  // In the words of the lease, with the end of its cool-down, and at least a second.
  ...(['credentialsRejected', 'scopeRejected', 'grantRejected', 'upstreamUnavailable'] as const).map(
    (code) => [new TokenUnavailable(code, 'm', 42_000), { code, afterMs: 42_000, isUnsent: true }] as const,
  ),
  ...[-5, 5].map(
    (ms) => [new TokenUnavailable('scopeRejected', 'm', ms), { code: 'scopeRejected', afterMs: 1_000 }] as const,
  ),
])('%s means %j, in the words of the error', (error, trouble) => {
  expect(troubleOf(error)).toMatchObject({ afterMs: undefined, ...trouble });
  expect(troubleOf(error)?.message).toContain(error.message);
});

it('a token that this worker cannot unseal means: check the keys, not the credentials', () => {
  const error = new SealingError('SEALING_KEY_UNKNOWN', 'no key "k2" to open the sealed text with');
  const message = expect.stringMatching(/^no key "k2"(?!.*client secret).+ FARETRAIL_SEALING_KEYS\.$/);
  expect(troubleOf(error)).toMatchObject({ code: 'credentialsRejected', message });
  const ofCall = toCallTrouble(error, { account, operation: 'products' }, now, 0);
  const remedy = expect.stringContaining('FARETRAIL_SEALING_KEYS');
  expect(ofCall).toMatchObject({ type: 'Unavailable', isFinal: false, message: remedy });
});

const foreign = [new Error('a bug of ours'), new TypeError('x'), new CancelledFailure('CANCELLED'), 'text', undefined];
it.each(foreign)('Temporal repeats a look after an error that is not about the service: %s', (error) => {
  expect(troubleOf(error)).toBeUndefined();
});
