import { randomBytes } from 'node:crypto';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { describe, expect, it } from 'vitest';
import { createTokenActivities, type TokenActivityPorts } from '../../../src/activities/token.js';
import { UnusableReply } from '../../../src/contracts/unusable-reply.js';
import type { SealedToken } from '../../../src/domain/token/lease.js';
import { accessTokenId } from '../../../src/domain/workflow-ids.js';
import { RideApiGarbled, RideApiUnreachable, TokenRefused } from '../../../src/ride-api/errors.js';
import type { ObtainedToken, RideApi } from '../../../src/ride-api/ride-api.js';
import { createNamedKey } from '../../../src/sealing/key-ring.js';
import { createSealer, SealingError } from '../../../src/sealing/sealer.js';
import { apiError, apiErrorCodes, fakeRideApi, nextOf } from '../service.js';
import { logger, start as requestedAt } from '../temporal.js';
import { account, scope } from './fleet.js';

const key = { account: account.name, scope, credentialId: 'c-1' };
const sealer = createSealer([createNamedKey('k1', randomBytes(32))]);
const accessToken = 'header.SECRET-TOKEN.signature';

const obtained = (more: Partial<ObtainedToken> = {}): ObtainedToken => ({
  accessToken,
  lifetimeMs: 3_600_000,
  grantedScope: 'demand_partner',
  requestedAt,
  ...more,
});

function requestToken(answer: ObtainedToken | Error, ports: Partial<TokenActivityPorts> = {}): Promise<SealedToken> {
  const activities = createTokenActivities({
    accountWith: (name, credentialId) => (name === account.name && credentialId === 'c-1' ? account : undefined),
    rideApi: fakeRideApi({ requestToken: async () => nextOf([answer]) }),
    seal: sealer.seal,
    refreshEarlyMs: 60_000,
    ...ports,
  });
  return new MockActivityEnvironment({}, { logger }).run(activities.requestToken, key);
}

async function failureOf(answer: Error): Promise<ApplicationFailure> {
  const error: unknown = await requestToken(answer).catch((thrown: unknown) => thrown);
  if (error instanceof ApplicationFailure) return error;
  throw error;
}

it('a token leaves the activity sealed, for readers of its lease only', async () => {
  const token = await requestToken(obtained());
  expect(JSON.stringify(token)).not.toContain('SECRET');
  expect(await sealer.unseal(token.sealed, accessTokenId(key))).toBe(accessToken);
  const otherLease = accessTokenId({ ...key, credentialId: 'c-2' });
  await expect(sealer.unseal(token.sealed, otherLease)).rejects.toThrow(SealingError);
});

it('a token has an id that says nothing of it', async () => {
  const [one, two] = await Promise.all([requestToken(obtained()), requestToken(obtained())]);
  expect(one.id).toMatch(/^[0-9a-f-]{36}$/);
  expect(two.id).not.toBe(one.id);
});

it.each([
  [3_600, '2031-05-01T10:59:00.000Z', '2031-05-01T11:00:00.000Z'],
  [899, '2031-05-01T10:13:59.000Z', '2031-05-01T10:14:59.000Z'],
  [100, '2031-05-01T10:01:20.000Z', '2031-05-01T10:01:40.000Z'],
  [1, '2031-05-01T10:00:00.800Z', '2031-05-01T10:00:01.000Z'],
])('a lifetime of %i s counts from the sending of the request', async (seconds, renewAt, expiresAt) => {
  const token = await requestToken(obtained({ lifetimeMs: seconds * 1_000 }));
  expect(token).toMatchObject({ requestedAt: '2031-05-01T10:00:00.000Z', renewAt, expiresAt });
});

it.each(['order', null])('a token carries the scope that the service names: %s', async (grantedScope) => {
  expect(await requestToken(obtained({ grantedScope }))).toMatchObject({ grantedScope });
});

it('a token request has the account and the scope of the key, and a signal', async () => {
  const calls: unknown[][] = [];
  const asked: RideApi['requestToken'] = async (...args) => {
    calls.push(args);
    return obtained();
  };
  await requestToken(obtained(), { rideApi: fakeRideApi({ requestToken: asked }) });
  expect(calls).toEqual([[account, scope, expect.any(AbortSignal)]]);
});

describe('a token request that the service refused', () => {
  const codes = ['credentialsRejected', 'scopeRejected', 'grantRejected'] as const;
  it.each(codes)('a token request that is refused with %s fails for good', async (code) => {
    const failure = await failureOf(new TokenRefused(code, 400, { upstreamCode: 'invalid', requestId: null }));
    expect(failure).toMatchObject({ nonRetryable: true, type: `${code.charAt(0).toUpperCase()}${code.slice(1)}` });
    expect(failure.details).toEqual([{ code, message: failure.message, retryAfterMs: null }]);
    expect(failure.message).toContain('check');
  });
});

describe('a token request without a usable answer', () => {
  it.each([
    ...apiErrorCodes.map((code) => [apiError(code), code, null] as const),
    [apiError('RATE_LIMITED', 17), 'RATE_LIMITED', 17_000],
    [new RideApiUnreachable('TOTAL_TIMEOUT', 'https://auth.example'), 'TOTAL_TIMEOUT', null],
    [new RideApiGarbled('NOT_JSON', 'https://auth.example', 200), 'NOT_JSON', null],
    [new UnusableReply('NO_TOKEN'), 'NO_TOKEN', null],
  ] as const)('a token request without a usable answer fails as unavailable: %s', async (error, word, retryAfterMs) => {
    const failure = await failureOf(error);
    expect(failure).toMatchObject({ nonRetryable: true, type: 'UpstreamUnavailable' });
    const message = expect.stringContaining(word);
    expect(failure.details).toEqual([{ code: 'upstreamUnavailable', message, retryAfterMs }]);
  });

  const foreign = [new Error('a bug of ours'), new CancelledFailure('CANCELLED')];
  it.each(foreign)('Temporal repeats a token request after %s', async (error) => {
    await expect(requestToken(error)).rejects.toBe(error);
  });
});

it('a worker without the credentials makes no call and fails, so that Temporal asks another worker', async () => {
  const rideApi = fakeRideApi({ requestToken: () => Promise.reject(new Error('was called')) });
  const attempt = requestToken(obtained(), { accountWith: () => undefined, rideApi });
  await expect(attempt).rejects.toMatchObject({ type: 'CredentialsNotHeld', nonRetryable: false });
  await expect(attempt).rejects.toThrow(ApplicationFailure);
});
