import { describe, expect, it } from 'vitest';
import { type TokenSource, TokenUnavailable } from '../../../src/activities/token-source.js';
import { subscriptionId } from '../../../src/domain/workflow-ids.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { partnerAccount } from '../../ride-api/accounts.js';
import { apiError } from '../api-errors.js';
import { iso, start } from '../attempts.js';
import { createSubscribingStage, deliveryAddress, request, type SubscribingStage, subscriber } from './attempts.js';

const origin = 'https://business.example';
const lost = () => new RideApiUnreachable('CONNECTION_LOST', origin);
const notSent = () => new RideApiUnreachable('CONNECTION_REFUSED', origin);
const second = 1_000;

const stageWith = (...answers: SubscribingStage['answers']) => Object.assign(createSubscribingStage(), { answers });
/** Where the service lists its subscribers, a request whose answer is lost. */
const listingStage = (listed: SubscribingStage['listed']) =>
  Object.assign(createSubscribingStage({ enabled: { list: true, delete: false } }), { answers: [lost()], listed });
const outcomeOf = async (stage: SubscribingStage, more = {}) => (await stage.run(request(more))).at(-1)?.outcome;

describe('a request for a subscription', () => {
  it('brings home the id and the times, and the secret sealed for this subscription alone', async () => {
    const stage = stageWith(subscriber());
    expect(await outcomeOf(stage)).toEqual({
      kind: 'registered',
      subscriber: { id: 'sub-1', createdAt: '2031-05-01T10:00:00.123456789Z', updatedAt: null },
      sealedSecret: `sealed 10 for ${subscriptionId(request())}`,
    });
    expect(stage.asked).toEqual([deliveryAddress]);
  });

  it('counts as made when the answer lacks the secret', async () => {
    const made = await outcomeOf(stageWith(subscriber({ secretId: null })));
    expect(made).toMatchObject({ kind: 'registered', sealedSecret: null });
  });

  it('is repeated once with another token after a 401', async () => {
    const stage = stageWith(apiError('TOKEN_REJECTED'), subscriber());
    expect(await stage.run(request())).toHaveLength(1);
    expect(stage.asked).toHaveLength(2);
  });
});

describe('a request that may have been carried out', () => {
  const unclear = [lost(), apiError('UNEXPECTED_STATUS'), new RideApiUnreachable('HEADERS_TIMEOUT', origin)];
  it.each(unclear)('is not repeated at the same address: %s', async (error) => {
    const stage = stageWith(error);
    const message = expect.stringContaining(error.message);
    expect(await outcomeOf(stage)).toMatchObject({ kind: 'unclear', message });
    expect(stage.asked).toHaveLength(1);
  });

  it('is not repeated after its worker died in the middle of it, with or without a word', async () => {
    const stage = stageWith(subscriber());
    const { left } = await stage.attempt(request());
    for (const heartbeatDetails of [left, undefined]) {
      const { outcome } = await stage.attempt(request(), { attempt: 2, heartbeatDetails });
      expect(outcome).toMatchObject({ kind: 'unclear' });
    }
    expect(stage.asked).toHaveLength(1);
  });

  it('counts as unclear when a later attempt left no word of itself, whatever the one before had left', async () => {
    const stage = stageWith(apiError('RATE_LIMITED'));
    const { left } = await stage.attempt(request());
    expect(left).toMatchObject({ isSent: false });
    stage.answers = [subscriber()];
    stage.now += 60_000;
    const { outcome } = await stage.attempt(request(), { attempt: 3, heartbeatDetails: left });
    expect(outcome).toMatchObject({ kind: 'unclear' });
    expect(stage.asked).toHaveLength(1);
  });

  it('is found in the list where there is one', async () => {
    const other = subscriber({ id: 'other', deliveryAddress: 'https://rides.example/else' });
    const stage = listingStage([subscriber({ id: 'older', secretId: null }), subscriber({ secretId: null }), other]);
    const found = { kind: 'registered', subscriber: { id: 'sub-1' }, sealedSecret: null };
    expect(await outcomeOf(stage)).toMatchObject(found);
  });

  it.each([[[]], [notSent()]])('stays unclear when the list does not tell: %s', async (listed) => {
    expect(await outcomeOf(listingStage(listed))).toMatchObject({ kind: 'unclear' });
  });
});

describe('a request that surely failed', () => {
  it.each([
    ['with growing pauses', [notSent(), apiError('UPSTREAM_FAILED'), notSent()], 1 + 2 + 4],
    ['after the wait that the service asks for', [apiError('RATE_LIMITED', 17)], 17],
  ])('is repeated at the same address %s, and goes well in the end', async (_, errors, seconds) => {
    const stage = stageWith(...errors, subscriber());
    expect(await outcomeOf(stage)).toMatchObject({ kind: 'registered' });
    expect((stage.now - start) / second).toBe(seconds);
    expect(new Set(stage.asked)).toEqual(new Set([deliveryAddress]));
  });

  it('is shown after five minutes when it may pass by itself', async () => {
    const stage = stageWith(notSent());
    const attention = { code: 'upstreamUnavailable', since: iso(start) };
    expect(await outcomeOf(stage)).toMatchObject({ kind: 'trouble', attention });
    expect((stage.now - start) / second).toBe(300);
  });

  it.each([
    [apiError('FORBIDDEN'), 'forbidden'],
    [apiError('UNPROCESSABLE'), 'forbidden'],
    [apiError('NOT_FOUND'), 'forbidden'],
    [apiError('TOKEN_REJECTED'), 'credentialsRejected'],
  ])('is shown at once when a person must act: %s', async (error, code) => {
    const shown = { kind: 'trouble', attention: { code }, notBefore: iso(start + 60_000) };
    expect(await outcomeOf(stageWith(error))).toMatchObject(shown);
  });

  it('goes on by itself every minute while it is shown, and ends well once it is repaired', async () => {
    const stage = stageWith(apiError('FORBIDDEN'), apiError('FORBIDDEN'), subscriber());
    const notBefore = iso(start + 60_000);
    expect(await outcomeOf(stage, { shown: 'forbidden', notBefore })).toMatchObject({ kind: 'registered' });
    expect((stage.now - start) / second).toBe(180);
  });

  it('asks no more often when the service asks it not to wait', async () => {
    const times = async (wish?: number) => {
      const stage = stageWith(apiError('RATE_LIMITED', wish));
      const attempts = await stage.run(request(), 4 * 60_000);
      expect(attempts.at(-1)?.failure?.stack).toBe('');
      return stage.asked.length;
    };
    expect(await times(0)).toBe(await times());
  });

  it('shows at once until when a long wait lasts, and keeps to it in the next activity, for ten minutes at most', async () => {
    const stage = stageWith(apiError('RATE_LIMITED', 599), subscriber());
    const message = expect.stringContaining('until 2031-05-01 10:09:59 UTC');
    const attention = { code: 'upstreamUnavailable', message };
    expect(await outcomeOf(stage)).toMatchObject({ kind: 'trouble', attention, notBefore: iso(start + 599_000) });
    expect(stage.now).toBe(start);
    stage.now = start + 599_000;
    const notBefore = iso(start + 86_400_000);
    expect(await outcomeOf(stage, { shown: 'upstreamUnavailable', notBefore })).toMatchObject({ kind: 'registered' });
    expect(stage.now).toBe(start + 599_000 + 600_000);
  });

  it.each([1, 2])('is not taken for unclear when there is no token for try %i', async (failing) => {
    let given = 0;
    const unavailable = new TokenUnavailable('scopeRejected', 'no token', start + 60_000);
    const tokens: TokenSource = {
      rejectAfresh: async () => undefined,
      async get() {
        given += 1;
        if (given === failing) throw unavailable;
        return { id: 'token', value: 'clear token', askedAt: start, served: new Set() };
      },
    };
    const stage = createSubscribingStage({ tokens });
    stage.answers = [apiError('TOKEN_REJECTED')];
    expect(await outcomeOf(stage)).toMatchObject({ kind: 'trouble', attention: { code: 'scopeRejected' } });
  });
});

describe('a worker that cannot subscribe', () => {
  it('says which setting it lacks, sends nothing and lets another one try', async () => {
    const stage = createSubscribingStage({ webhooks: null });
    const message = expect.stringContaining('FARETRAIL_WEBHOOK_KEYS');
    const attention = { code: 'credentialsRejected', message };
    expect(await outcomeOf(stage)).toMatchObject({ kind: 'trouble', attention });
    expect(stage.asked).toEqual([]);
  });

  it('refuses an account of the other interface for good', async () => {
    const stage = createSubscribingStage({ account: partnerAccount() });
    const { failure } = await stage.attempt(request());
    expect(failure).toMatchObject({ type: 'InvalidInput', nonRetryable: true });
  });
});

describe('a subscriber that is not wanted any more', () => {
  const unwanted = { ...request(), subscriberId: 'sub-1' };
  const nameless = { ...unwanted, subscriberId: null };
  const both = { enabled: { list: true, delete: true } };

  it('is deleted only where the contract profile says so', async () => {
    const idle = createSubscribingStage();
    expect(await idle.activities.removeSubscriber(unwanted)).toEqual({ kind: 'registered', subscriberId: 'sub-1' });
    expect(await idle.activities.removeSubscriber(nameless)).toEqual({ kind: 'unknown', subscriberId: null });
    expect(idle.deleted).toEqual([]);
    const stage = createSubscribingStage(both);
    expect(await stage.activities.removeSubscriber(unwanted)).toEqual({ kind: 'removed', subscriberId: 'sub-1' });
    expect(stage.deleted).toEqual(['sub-1']);
  });

  it('is looked up by its address when its id was never learnt', async () => {
    const stage = createSubscribingStage(both);
    expect(await stage.activities.removeSubscriber(nameless)).toEqual({ kind: 'removed', subscriberId: null });
    stage.listed = [subscriber({ id: 'found' })];
    expect(await stage.activities.removeSubscriber(nameless)).toEqual({ kind: 'removed', subscriberId: 'found' });
    expect(stage.deleted).toEqual(['found']);
  });

  it('is tried again when the service fails', async () => {
    const stage = createSubscribingStage(both);
    stage.listed = apiError('FORBIDDEN');
    await expect(stage.activities.removeSubscriber(nameless)).rejects.toMatchObject({ type: 'Forbidden' });
  });
});
