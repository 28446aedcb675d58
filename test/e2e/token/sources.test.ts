import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTokenSource, type TokenSource } from '../../../src/activities/index.js';
import { toAccountName, toScope } from '../../../src/domain/keys.js';
import type { AccessTokenInput } from '../../../src/domain/token/input.js';
import { accessTokenId } from '../../../src/domain/workflow-ids.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import { createTokenLeases } from '../../../src/temporal/token-leases.js';
import type { accessToken } from '../../../src/workflows/access-token.js';
import { renewTokenSignal } from '../../../src/workflows/messages.js';
import { useOrderStack } from '../../support/order/stack.js';

/** Of the queue that token requests share with other activities. */
const activitiesPerSecond = 2;

const stack = useOrderStack({ options: { maxTaskQueueActivitiesPerSecond: activitiesPerSecond } });
beforeEach(() => stack.sandbox.resetLedger());

/** Hundreds of sources share this process with a server: on a busy machine a deadline of seconds would be too short. */
const unhurriedMs = 90_000;
const startedAt = Date.now();
/** The time that sources give up by passes at a tenth of its speed. */
const slowly = () => startedAt + (Date.now() - startedAt) / 10;

const credentialOf = (name: string): string => {
  const account = stack.config.accounts.find((known) => known.name === name);
  return createSealer(stack.config.sealingKeys).keyedHash(account?.clientId ?? '', account?.clientSecret ?? '');
};
const tokenRequests = () => stack.sandbox.ledger({ operation: 'businessToken' }).length;

/** A lease that nothing else uses: the end of its id is its own. */
const leaseOf = (name: string, more: Partial<AccessTokenInput> = {}) => {
  const key = { account: toAccountName(name), scope: toScope('finance'), credentialId: credentialOf(name) };
  return {
    workflowId: `${accessTokenId(key)}-${randomUUID()}`,
    taskQueue: stack.config.taskQueue,
    args: [{ ...key, ...more }] as [AccessTokenInput],
  };
};

/** As many sources as there are calls: each stands for a process of its own. */
function sources(count: number): TokenSource[] {
  const sealer = createSealer(stack.config.sealingKeys);
  const leases = createTokenLeases(stack.client, stack.config.taskQueue, unhurriedMs);
  return Array.from({ length: count }, () =>
    createTokenSource({
      leases,
      unseal: ({ sealed }, leaseId) => sealer.unseal(sealed, leaseId),
      credentialId: ({ clientId, clientSecret }) => sealer.keyedHash(clientId, clientSecret),
      now: slowly,
    }),
  );
}

it('500 cold token sources at once cost one token request, and all are served', async () => {
  const account = stack.config.accounts.find(({ name }) => name === 'business');
  if (!account) throw new Error('no account');
  const tokens = await Promise.all(sources(500).map((source) => source.get(account, toScope('order'))));
  expect(new Set(tokens.map(({ value }) => value)).size).toBe(1);
  expect(tokenRequests()).toBe(1);
});

it('one scope has one token, however its values are ordered', async () => {
  const account = stack.config.accounts.find(({ name }) => name === 'business');
  if (!account) throw new Error('no account');
  const [source] = sources(1);
  const one = await source?.get(account, toScope('finance order'));
  const other = await source?.get(account, toScope('order finance'));
  expect(other?.value).toBe(one?.value);
  expect(tokenRequests()).toBe(1);
});

it('10,000 calls that all see their token rejected cost one token request', async () => {
  const account = stack.config.accounts.find(({ name }) => name === 'business');
  if (!account) throw new Error('no account');
  const fleet = sources(20);
  const [old] = await Promise.all(fleet.map((source) => source.get(account, toScope('order'))));
  stack.sandbox.revokeTokens();
  stack.sandbox.resetLedger();
  const calls = Array.from({ length: 10_000 }, (_, index) =>
    fleet[index % fleet.length]?.get(account, toScope('order'), {
      tokenId: old?.id ?? '',
      operation: 'readOrder',
      hasServed: true,
    }),
  );
  const renewed = await Promise.all(calls);
  expect(new Set(renewed.map((token) => token?.value)).size).toBe(1);
  expect(renewed[0]?.value).not.toBe(old?.value);
  expect(tokenRequests()).toBe(1);
});

it('a lease continues as new after so many events, and its token can be read all the time', async () => {
  const handle = await stack.client.workflow.start<typeof accessToken>(
    'accessToken',
    leaseOf('business', { maxEvents: 8 }),
  );
  await handle.signal(renewTokenSignal, { insteadOf: null });
  const latest = stack.client.workflow.getHandle(handle.workflowId);
  await expect.poll(async () => (await latest.describe()).runId).not.toBe(handle.firstExecutionRunId);
  expect((await latest.describe()).memo).toMatchObject({ lease: { token: { id: expect.any(String) } } });
  await latest.terminate();
});

it('a token request goes ahead of a minute of other activities on its queue', async () => {
  const args = [{ url: 'https://nobody.example/', event: {}, id: 'x' }]; // refused: no origin is allowed
  const start = { taskQueue: stack.config.taskQueue, startToCloseTimeout: 10_000, retry: { maximumAttempts: 1 }, args };
  const ahead = Array.from({ length: 60 * activitiesPerSecond }, () =>
    stack.client.activity.start('notifyUrl', { ...start, id: randomUUID() }),
  );
  await Promise.all(ahead);
  const orderId = stack.newOrder('partner', [['Completed', 0]]);
  const startedAt = Date.now();
  await (await stack.follow('partner', orderId)).result();
  expect(Date.now() - startedAt).toBeLessThan(30_000);
});

describe('a run of a lease that a stranger starts', () => {
  it.each([
    ['nothing', []],
    ['text', ['token']],
    ['a list', [[]]],
    ['no scope', [{ account: 'business', credentialId: 'c' }]],
    ['an account that is none', [{ account: '../x', scope: '', credentialId: 'c' }]],
    ['a limit that is none', [{ account: 'business', scope: '', credentialId: 'c', maxSignals: 'many' }]],
    ['an unknown field', [{ account: 'business', scope: '', credentialId: 'c', token: 'x' }]],
  ])('with %s as its input fails at once, and says why', async (_, args) => {
    const { workflowId, taskQueue } = leaseOf('business');
    const failed = stack.client.workflow.execute('accessToken', { workflowId, taskQueue, args });
    await expect(failed).rejects.toMatchObject({ cause: { type: 'InvalidInput', nonRetryable: true } });
  });

  it.each([5, 'lease', [], {}, { token: {} }, { token: { id: 1 }, failure: null, renewals: 0, failuresInRow: 0 }])(
    'with the memo %j counts as a lease without a token',
    async (lease) => {
      const account = toAccountName('business');
      const key = { account, scope: toScope(''), credentialId: randomUUID() };
      const run = await stack.client.workflow.start('accessToken', {
        ...{ workflowId: accessTokenId(key), taskQueue: `nobody-${randomUUID()}`, memo: { lease } },
        args: [key],
      });
      expect(await createTokenLeases(stack.client, stack.config.taskQueue).read(key)).toBeNull();
      await run.terminate();
    },
  );
});

describe('a renewal that nobody can make sense of', () => {
  it('is counted, costs no token, and does not keep the lease from its work', async () => {
    const lease = await stack.client.workflow.start('accessToken', leaseOf('business', { maxSignals: 14 }));
    const garbage = [5, 'x', null, [], {}, { insteadOf: 5 }, { insteadOf: ['a'] }, { insteadOf: null, cause: 'fun' }];
    for (const one of garbage) await lease.signal('renewToken', one);
    await lease.signal('renewToken');
    expect(await lease.query('tokenStatus')).toMatchObject({ renewals: 0 }); // the run has seen them all
    const { events } = await lease.fetchHistory();
    expect(events?.filter(({ activityTaskScheduledEventAttributes }) => activityTaskScheduledEventAttributes)).toEqual(
      [],
    );
    await lease.signal('renewToken', { insteadOf: null, operation: { a: 1 }, more: true });
    const latest = stack.client.workflow.getHandle(lease.workflowId);
    await expect.poll(async () => (await latest.describe()).memo).toMatchObject({ lease: { renewals: 1 } });
    expect(tokenRequests()).toBe(1);
    for (const one of garbage) await latest.signal('renewToken', one);
    await expect.poll(async () => (await latest.describe()).runId).not.toBe(lease.firstExecutionRunId);
    expect((await latest.describe()).memo).toMatchObject({ lease: { renewals: 1 } });
    expect(tokenRequests()).toBe(1);
    await latest.terminate();
  });
});
