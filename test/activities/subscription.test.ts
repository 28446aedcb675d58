import { describe, expect, it } from 'vitest';
import { createAuthorizedCall, createQuietTimes } from '../../src/activities/authorized-call.js';
import { createSubscriptionActivities, type SubscriptionActivityPorts } from '../../src/activities/subscription.js';
import { type TokenSource, TokenUnavailable } from '../../src/activities/token.js';
import type { Subscriber } from '../../src/contracts/subscriber-reply.js';
import type { Account } from '../../src/domain/account.js';
import type { CreateSubscriberInput } from '../../src/domain/subscription/state.js';
import { RideApiError, RideApiUnreachable } from '../../src/ride-api/errors.js';
import { businessAccount } from '../ride-api/accounts.js';
import { apiError, fakeRideApi, nextOf, tokensInOrder } from './service.js';
import { attemptOnce, start } from './temporal.js';

const origin = 'https://business.example';
const lost = () => new RideApiUnreachable('CONNECTION_LOST', origin);
const notSent = () => new RideApiUnreachable('NO_CONNECTION', origin);

/** A request for a new address. */
const request = (more: Partial<CreateSubscriberInput> = {}): CreateSubscriberInput => ({
  account: businessAccount().name,
  eventType: 'status_changed',
  generation: 'abc',
  publicUrl: 'https://rides.example',
  number: 1,
  ...more,
});

/** Where `request` has the service deliver to. */
const deliveryAddress = 'https://rides.example/webhooks/business/status_changed/abc.mac';

/** A subscriber at the service. */
const subscriber = (more: Partial<Subscriber> = {}): Subscriber => ({
  id: 'sub-1',
  secretId: 'the-secret',
  deliveryAddress,
  createdAt: '2031-05-01T10:00:00.123456789Z',
  updatedAt: null,
  ...more,
});

type Listed = Subscriber[] | Error;
type Parts = Partial<Pick<SubscriptionActivityPorts, 'webhooks' | 'enabled' | 'publicUrls'>> & {
  account?: Account;
  tokens?: TokenSource;
};

/** The service and Temporal, as far as the activities see them. */
function stageWith(answers: (Subscriber | Error)[], { account = businessAccount(), ...parts }: Parts = {}) {
  /** `asked`: the addresses that the service was asked to deliver to. */
  const stage = { now: start, answers, asked: [] as string[], deleted: [] as string[], listed: [] as Listed };
  const now = () => stage.now;
  const rideApi = fakeRideApi({
    async createSubscriber(_account, wanted) {
      stage.asked.push(wanted.deliveryAddress);
      return nextOf(stage.answers);
    },
    async listSubscribers() {
      if (stage.listed instanceof Error) throw stage.listed;
      return stage.listed;
    },
    async deleteSubscriber(_account, id) {
      stage.deleted.push(id);
    },
  });
  const { tokens = tokensInOrder(), ...ports } = parts;
  const claimed = new Set<string>();
  const activities = createSubscriptionActivities({
    account: () => account,
    rideApi,
    call: createAuthorizedCall({ tokens, quietTimes: createQuietTimes(now), monotonic: now }),
    webhooks: {
      pathOf: ({ account: name, eventType, generation, publicUrl }) =>
        `/webhooks/${name}/${eventType}/${generation}.${publicUrl === undefined ? 'earlier' : 'mac'}`,
      seal: async (secretId, context) => `sealed ${secretId.length} for ${context}`,
    },
    enabled: { list: false, delete: false },
    publicUrls: ['https://rides.example'],
    claims: { take: async (_run: unknown, name: string) => !claimed.has(name) && Boolean(claimed.add(name)) },
    ...ports,
  });
  const attempt = (input = request()) =>
    attemptOnce({ workflowExecution: { workflowId: 'w', runId: 'r' } }, () => activities.createSubscriber(input));
  const outcome = async (input = request()) => (await attempt(input)).seen;
  return Object.assign(stage, { activities, attempt, outcome });
}

/** Where the service lists these, a request whose answer is lost. */
const listing = (listed: Listed) =>
  Object.assign(stageWith([lost()], { enabled: { list: true, delete: false } }), { listed });

describe('a public URL', () => {
  it.each(['https://rides.example', 'https://rides.example/base', 'http://127.0.0.1:9', 'https://localhost'])(
    'may be %s: FARETRAIL_PUBLIC_URL names its origin, or no other machine can reach it',
    async (publicUrl) => {
      const stage = stageWith([subscriber()]);
      expect(await stage.outcome(request({ publicUrl }))).toMatchObject({ kind: 'registered' });
      expect(stage.asked).toHaveLength(1);
    },
  );

  it.each(['https://attacker.example', 'https://rides.example:8443', 'https://rides.example.attacker.example'])(
    'that the setting does not name gets no subscription, and the reason is shown: %s',
    async (publicUrl) => {
      for (const publicUrls of [['https://rides.example'], ['https://a.example', 'https://b.example'], []]) {
        const stage = stageWith([subscriber()], { publicUrls });
        const message = expect.stringContaining('FARETRAIL_PUBLIC_URL');
        const trouble = { code: 'forbidden', message };
        expect(await stage.outcome(request({ publicUrl }))).toEqual({ kind: 'trouble', trouble, isUnclaimed: true });
        expect(stage.asked).toEqual([]);
      }
    },
  );

  it('of an earlier release is found in the list of the service by its earlier address', async () => {
    const earlier = subscriber({ deliveryAddress: deliveryAddress.replace(/mac$/, 'earlier') });
    expect(await listing([earlier]).outcome()).toMatchObject({ kind: 'registered', subscriber: { id: 'sub-1' } });
  });
});

it('a subscription counts as made when the answer lacks the secret', async () => {
  const made = await stageWith([subscriber({ secretId: null })]).outcome();
  expect(made).toMatchObject({ kind: 'registered', sealedSecret: null });
});

describe('a request that may have been carried out', () => {
  const failed = new RideApiError('UPSTREAM_FAILED', 500, { upstreamCode: null, requestId: null });
  const unclear = [lost(), apiError('UNEXPECTED_STATUS'), failed];
  it.each(unclear)('a request is not repeated at the same address after %s', async (error) => {
    const stage = stageWith([error]);
    const message = expect.stringContaining(error.message);
    expect(await stage.outcome()).toMatchObject({ kind: 'unclear', message });
    expect(stage.asked).toHaveLength(1);
  });

  it('a request that is made a second time, after a reset, is not sent, and may have been carried out', async () => {
    const stage = stageWith([apiError('RATE_LIMITED'), subscriber()]);
    expect(await stage.outcome()).toMatchObject({ kind: 'trouble' });
    expect(await stage.outcome()).toMatchObject({ kind: 'unclear' });
    expect(stage.asked).toHaveLength(1);
    expect(await stage.outcome(request({ number: 2 }))).toMatchObject({ kind: 'registered' });
  });

  it.each([[[]], [notSent()]])('a request stays unclear when the list does not tell: %s', async (listed) => {
    expect(await listing(listed).outcome()).toMatchObject({ kind: 'unclear' });
  });
});

it.each([
  ['with another token after a 401', [apiError('TOKEN_REJECTED'), subscriber()], 'registered'],
  ['surely not made when it was not sent', [notSent()], 'trouble'],
] as const)('a request is repeated %s', async (_, answers, kind) => {
  expect(await stageWith([...answers]).outcome()).toMatchObject({ kind });
});

it.each([
  [notSent(), 'upstreamUnavailable', undefined],
  [apiError('RATE_LIMITED', 17), 'upstreamUnavailable', 17_000],
  [apiError('UPSTREAM_FAILED'), 'upstreamUnavailable', undefined], // 503
  [apiError('FORBIDDEN'), 'forbidden', undefined],
  [apiError('UNPROCESSABLE'), 'forbidden', undefined],
  [apiError('NOT_FOUND'), 'forbidden', undefined],
  [apiError('TOKEN_REJECTED'), 'credentialsRejected', undefined],
])('a request that surely failed says why, and for how long to wait: %s', async (error, code, afterMs) => {
  const { trouble } = (await stageWith([error]).outcome()) as { trouble: object };
  expect(trouble).toMatchObject({ code });
  expect((trouble as { afterMs?: number }).afterMs).toBe(afterMs);
});

it.each([1, 2])('a request is surely not made when there is no token for try %i', async (failing) => {
  const tokens = tokensInOrder();
  const get: TokenSource['get'] = async (...args) => {
    const token = await tokens.get(...args);
    if (tokens.calls.length === failing) throw new TokenUnavailable('scopeRejected', 'no token', 60_000);
    return token;
  };
  const stage = stageWith([apiError('TOKEN_REJECTED')], { tokens: { ...tokens, get } });
  expect(await stage.outcome()).toMatchObject({ kind: 'trouble', trouble: { code: 'scopeRejected' } });
});

it('a worker without webhook keys names the setting, and sends nothing', async () => {
  const stage = stageWith([], { webhooks: null });
  const trouble = { code: 'credentialsRejected', message: expect.stringContaining('FARETRAIL_WEBHOOK_KEYS') };
  expect(await stage.outcome()).toMatchObject({ kind: 'trouble', trouble });
  expect(stage.asked).toEqual([]);
});

describe('a subscriber that is not wanted any more', () => {
  const unwanted = { ...request(), subscriberId: 'sub-1' };
  const nameless = { ...unwanted, subscriberId: null };
  const both = { enabled: { list: true, delete: true } };

  it('a subscriber whose id the run never learnt is found by its address', async () => {
    const stage = stageWith([], both);
    expect(await stage.activities.removeSubscriber(nameless)).toEqual({ kind: 'removed', subscriberId: null });
    stage.listed = [subscriber({ id: 'found' })];
    expect(await stage.activities.removeSubscriber(nameless)).toEqual({ kind: 'removed', subscriberId: 'found' });
    expect(stage.deleted).toEqual(['found']);
  });

  it('a removal that the service refuses is tried again', async () => {
    const stage = Object.assign(stageWith([], both), { listed: apiError('FORBIDDEN') });
    await expect(stage.activities.removeSubscriber(nameless)).rejects.toMatchObject({ type: 'Forbidden' });
  });
});
