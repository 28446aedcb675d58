import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { toAccountName, toScope } from '../../../src/domain/keys.js';
import type { AccessTokenInput } from '../../../src/domain/token/input.js';
import type { RenewalCause } from '../../../src/domain/token/lease.js';
import { accessTokenId } from '../../../src/domain/workflow-ids.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import type { accessToken } from '../../../src/workflows/access-token.js';
import type { OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { continued } from '../../support/runs.js';
import { completed, ended, firstRunOf, type Path, type Paths } from './path.js';

interface PublishedLease {
  token: { id: string } | null;
  failure: { code: string } | null;
  publishedAt: string | null;
}

/** A token lease that nothing else uses: its scope differs each time, and the business interface grants any order of them. */
async function openLease(stack: OrderStack, more: Partial<AccessTokenInput> = {}) {
  const business = stack.config.accounts.find(({ name }) => name === 'business');
  const { keyedHash } = createSealer(stack.config.sealingKeys);
  const credentialId = keyedHash(business?.clientId ?? '', business?.clientSecret ?? '');
  const key = { account: toAccountName('business'), scope: toScope('finance'), credentialId };
  // The id is that of nobody's lease, so that the account's own is left alone.
  const handle = await stack.client.workflow.start<typeof accessToken>('accessToken', {
    workflowId: `${accessTokenId(key)}-${randomUUID()}`,
    taskQueue: stack.config.taskQueue,
    args: [{ ...key, ...more }],
  });
  const lease = async () => (await handle.describe()).memo?.lease as PublishedLease | undefined;
  return {
    handle,
    published: lease,
    renew: (insteadOf: string | null, cause: RenewalCause = 'rejected') =>
      handle.signal('renewToken', { insteadOf, cause, operation: 'readOrder' }),
    failure: (code: string) => vi.waitFor(async () => expect((await lease())?.failure?.code).toBe(code), patient),
    tokenOtherThan: (before: string | undefined): Promise<string> =>
      vi.waitFor(async () => {
        const id = (await lease())?.token?.id;
        if (id === undefined || id === before) throw new Error('no other token yet');
        return id;
      }, patient),
  };
}

/** Every way through the `accessToken` workflow, by name. */
export const tokenPaths: Paths = {
  async 'token-renewed'(stack) {
    const lease = await openLease(stack);
    await lease.renew(null);
    const first = await lease.tokenOtherThan(undefined);
    await lease.renew(first);
    await lease.renew(first);
    await lease.tokenOtherThan(first);
    return lease.handle;
  },
  async 'token-refused'(stack) {
    const fault = stack.sandbox.setFault({ kind: 'invalidClient' });
    const lease = await openLease(stack);
    await lease.renew(null);
    await lease.failure('credentialsRejected');
    stack.sandbox.clearFault(fault);
    return lease.handle;
  },
  async 'token-rejected-afresh'(stack) {
    const lease = await openLease(stack);
    let current: string | undefined;
    for (let renewals = 0; renewals < 2; renewals += 1) {
      await lease.renew(current ?? null);
      current = await lease.tokenOtherThan(current);
    }
    await lease.renew(current ?? null, 'rejectedAfresh');
    await lease.failure('credentialsRejected');
    return lease.handle;
  },
  async 'token-that-stands'(stack) {
    const lease = await openLease(stack);
    await lease.renew(null);
    const token = await lease.tokenOtherThan(undefined);
    const { publishedAt } = (await lease.published()) ?? {};
    await lease.renew(token, 'due');
    await vi.waitFor(async () => expect((await lease.published())?.publishedAt).not.toBe(publishedAt), patient);
    return lease.handle;
  },
  async 'token-with-bad-input'(stack) {
    return await ended((await openLease(stack, { maxSignals: 0 })).handle);
  },
  async 'token-continued-as-new'(stack) {
    const { handle, renew, tokenOtherThan } = await openLease(stack, { maxSignals: 2 });
    await renew(null);
    const first = await tokenOtherThan(undefined);
    await renew('another');
    await continued(handle);
    expect(await tokenOtherThan(undefined), 'readers find the token all the time').toBe(first);
    return firstRunOf(handle);
  },
};

/** A lease of which nobody asks anything, to its end: it takes minutes. */
export const idleLease: Path = async (stack) => {
  const { handle, renew } = await openLease(stack);
  await renew(null);
  return await completed(handle);
};
