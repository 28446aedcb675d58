import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createTokenSource, type TokenSource } from '../../src/activities/index.js';
import { toAccountName, toScope } from '../../src/domain/keys.js';
import { accessTokenId } from '../../src/domain/workflow-ids.js';
import { createSealer } from '../../src/sealing/sealer.js';
import { createTokenLeases } from '../../src/temporal/token-leases.js';
import type { accessToken } from '../../src/workflows/access-token.js';
import { renewTokenSignal } from '../../src/workflows/access-token-messages.js';
import { type OrderStack, startOrderStack } from '../support/order-stack.js';

let stack: OrderStack;
beforeAll(async () => {
  stack = await startOrderStack();
});
beforeEach(() => stack.sandbox.resetLedger());
afterAll(() => stack.close());

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
    }),
  );
  const renewed = await Promise.all(calls);
  expect(new Set(renewed.map((token) => token?.value)).size).toBe(1);
  expect(renewed[0]?.value).not.toBe(old?.value);
  expect(tokenRequests()).toBe(1);
});

it('a lease continues as new after so many events, and its token can be read all the time', async () => {
  const key = { account: toAccountName('business'), scope: toScope('finance'), credentialId: credentialOf('business') };
  const handle = await stack.client.workflow.start<typeof accessToken>('accessToken', {
    workflowId: `${accessTokenId(key)}-${randomUUID()}`, // nobody's lease, so that the account's own is left alone
    taskQueue: stack.config.taskQueue,
    args: [{ ...key, maxEvents: 8 }],
  });
  await handle.signal(renewTokenSignal, { insteadOf: null });
  const latest = stack.client.workflow.getHandle(handle.workflowId);
  await expect.poll(async () => (await latest.describe()).runId).not.toBe(handle.firstExecutionRunId);
  expect((await latest.describe()).memo).toMatchObject({ lease: { token: { id: expect.any(String) } } });
  await latest.terminate();
});
