import { randomBytes } from 'node:crypto';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { expect, it } from 'vitest';
import { createTokenActivities, type TokenActivityPorts } from '../../../src/activities/token.js';
import type { TokenReply } from '../../../src/contracts/token-reply.js';
import { UnusableReply } from '../../../src/contracts/unusable-reply.js';
import type { RequestedToken } from '../../../src/domain/token-lease.js';
import { accessTokenId } from '../../../src/domain/workflow-ids.js';
import { RideApiGarbled, RideApiUnreachable, TokenRefused } from '../../../src/ride-api/errors.js';
import { createNamedKey } from '../../../src/sealing/key-ring.js';
import { createSealer, SealingError } from '../../../src/sealing/sealer.js';
import { apiError, apiErrorCodes, fakeRideApi, nextOf } from '../service.js';
import { logger, minute, start } from '../temporal.js';
import { account, scope } from './fleet.js';

const key = { account: account.name, scope, credentialId: 'c-1' };
const sealer = createSealer([createNamedKey('k1', randomBytes(32))]);
const accessToken = 'header.SECRET-TOKEN.signature';
const reply: TokenReply = { accessToken, lifetimeMs: 3_600_000, differences: [] };

function request(answer: TokenReply | Error, ports: Partial<TokenActivityPorts> = {}) {
  const { requestToken } = createTokenActivities({
    accountWith: (name, credentialId) => (name === account.name && credentialId === 'c-1' ? account : undefined),
    rideApi: fakeRideApi({ requestToken: async () => nextOf([answer]) }),
    seal: sealer.seal,
    refreshEarlyMs: 60_000,
    ...ports,
  });
  return new MockActivityEnvironment({}, { logger }).run(requestToken, key);
}
const obtained = async (more: Partial<TokenReply> = {}, ports: Partial<TokenActivityPorts> = {}) =>
  (await request({ ...reply, ...more }, ports)) as RequestedToken;

it('a token leaves the activity sealed, for readers of its lease only', async () => {
  const token = await obtained();
  expect(JSON.stringify(token)).not.toContain('SECRET');
  expect(await sealer.unseal(token.sealed, accessTokenId(key))).toBe(accessToken);
  const otherLease = accessTokenId({ ...key, credentialId: 'c-2' });
  await expect(sealer.unseal(token.sealed, otherLease)).rejects.toThrow(SealingError);
});

it('a token has an id that says nothing of it', async () => {
  const [one, two] = await Promise.all([obtained(), obtained()]);
  expect(one.id).toMatch(/^[0-9a-f-]{36}$/);
  expect(two.id).not.toBe(one.id);
});

it('a token is renewed ahead of its end, and its times count from the sending of its request', async () => {
  const times = [start, start + 300];
  const token = await obtained({ lifetimeMs: 899_000 }, { monotonic: () => nextOf(times) });
  expect(token).toMatchObject({ lifetimeMs: 899_000, renewAfterMs: 839_000, ageMs: 300 });
});

it('a token request has the account and the scope of the key, and a signal', async () => {
  const calls: unknown[][] = [];
  const requestToken = async (...args: unknown[]) => {
    calls.push(args);
    return reply;
  };
  await obtained({}, { rideApi: fakeRideApi({ requestToken }) });
  expect(calls).toEqual([[account, scope, expect.any(AbortSignal)]]);
});

const codes = ['credentialsRejected', 'scopeRejected', 'grantRejected'] as const;
it.each(codes)('a token request that the service refuses ends with %s and its remedy', async (code) => {
  const answer = await request(new TokenRefused(code, 400, { upstreamCode: 'invalid', requestId: null }));
  expect(answer).toEqual({ code, message: expect.stringContaining('check'), retryAfterMs: null });
});

it.each([
  ...apiErrorCodes.map((code) => [apiError(code), code, null] as const),
  [apiError('RATE_LIMITED', 17), 'RATE_LIMITED', 17_000],
  [new RideApiUnreachable('TOTAL_TIMEOUT', 'https://auth.example'), 'TOTAL_TIMEOUT', null],
  [new RideApiGarbled('NOT_JSON', 'https://auth.example', 200), 'NOT_JSON', null],
  [new UnusableReply('NO_TOKEN'), 'NO_TOKEN', null],
] as const)('a token request without a usable answer ends as unavailable: %s', async (error, word, retryAfterMs) => {
  const message = expect.stringContaining(word);
  expect(await request(error)).toEqual({ code: 'upstreamUnavailable', message, retryAfterMs });
});

it.each([new Error('a bug of ours'), new CancelledFailure('CANCELLED')])(
  'Temporal repeats a token request after %s',
  async (error) => {
    await expect(request(error)).rejects.toBe(error);
  },
);

it('a worker without the credentials makes no call and fails, so that Temporal asks another worker', async () => {
  const rideApi = fakeRideApi({ requestToken: () => Promise.reject(new Error('was called')) });
  const attempt = request(reply, { accountWith: () => undefined, rideApi });
  await expect(attempt).rejects.toMatchObject({ type: 'CredentialsNotHeld', nonRetryable: false });
  await expect(attempt).rejects.toThrow(ApplicationFailure);
});

it('an unusual answer is one warning an hour, which names it and never the token', async () => {
  const differences = ['token_type is "BearerToken"', 'scope lacks order'];
  const lines: unknown[] = [];
  const warnings = new DefaultLogger('WARN', ({ level, message, meta }) => lines.push({ level, message, ...meta }));
  const clock = { now: start };
  const { requestToken } = createTokenActivities({
    accountWith: () => account,
    rideApi: fakeRideApi({ requestToken: async () => ({ ...reply, differences }) }),
    seal: sealer.seal,
    refreshEarlyMs: 60_000,
    monotonic: () => clock.now,
  });
  const counts: number[] = [];
  for (const passedMs of [0, minute, 59 * minute, 30 * minute, 30 * minute]) {
    clock.now += passedMs;
    await new MockActivityEnvironment({}, { logger: warnings }).run(requestToken, key);
    counts.push(lines.length);
  }
  expect(counts).toEqual([1, 1, 2, 2, 3]);
  expect(lines[0]).toMatchObject({ level: 'WARN', account: account.name, scope, differences });
  expect(JSON.stringify(lines)).not.toContain('SECRET');
});
