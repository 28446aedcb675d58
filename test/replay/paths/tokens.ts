import { expect, vi } from 'vitest';
import type { AccessTokenInput, TokenLease } from '../../../src/domain/token-lease.js';
import type { accessToken } from '../../../src/workflows/access-token.js';
import type { OrderStack } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { continued } from '../../support/runs.js';
import { leaseStart } from '../../support/token/leases.js';
import { completed, ended, firstRunOf, type Path, type Paths } from './path.js';

/** A token lease that nothing else uses. */
async function openLease(stack: OrderStack, more: Partial<AccessTokenInput> = {}) {
  const handle = await stack.client.workflow.start<typeof accessToken>('accessToken', leaseStart(stack, more));
  const published = async () => (await handle.describe()).memo?.lease as TokenLease | undefined;
  return {
    handle,
    published,
    renew: (insteadOf: string | null) => handle.signal('renewToken', { insteadOf }),
    failure: (code: string) => vi.waitFor(async () => expect((await published())?.failure?.code).toBe(code), patient),
    tokenOtherThan: (before: string | undefined): Promise<string> =>
      vi.waitFor(async () => {
        const id = (await published())?.token?.id;
        if (id === undefined || id === before) throw new Error('no other token yet');
        return id;
      }, patient),
  };
}

type Lease = Awaited<ReturnType<typeof openLease>>;

/** A path of a lease that is new when it begins. */
const withLease =
  (go: (lease: Lease, stack: OrderStack) => Promise<unknown>, more?: Partial<AccessTokenInput>): Path =>
  async (stack) => {
    const lease = await openLease(stack, more);
    await go(lease, stack);
    return lease.handle;
  };

/** Every way through the `accessToken` workflow, by name. */
export const tokenPaths: Paths = {
  'token-renewed': withLease(async ({ renew, tokenOtherThan }) => {
    await renew(null);
    const first = await tokenOtherThan(undefined);
    await renew(first);
    await renew(first);
    await tokenOtherThan(first);
  }),
  'token-refused': withLease(async ({ renew, failure, published }, { sandbox }) => {
    const fault = sandbox.setFault({ kind: 'invalidClient' });
    await renew(null);
    await failure('credentialsRejected');
    sandbox.clearFault(fault);
    const { publishedAt } = (await published()) ?? {};
    await renew(null); // within the cool-down
    await vi.waitFor(async () => expect((await published())?.publishedAt).not.toBe(publishedAt), patient);
  }),
  'token-with-bad-input': withLease(({ handle }) => ended(handle), { maxEvents: 0 }),
  'token-continued-as-new': async (stack) => firstRunOf(await continuedLease(stack)),
  async 'token-after-continue-as-new'(stack) {
    const { workflowId, nextRunId } = await continuedLease(stack);
    return { workflowId, runId: nextRunId };
  },
};

async function continuedLease(stack: OrderStack) {
  const { handle, renew, tokenOtherThan } = await openLease(stack, { maxEvents: 8 });
  await renew(null);
  const first = await tokenOtherThan(undefined);
  await continued(handle);
  expect(await tokenOtherThan(undefined), 'readers find the token all the time').toBe(first);
  const { runId: nextRunId } = await handle.describe();
  await renew(first);
  await tokenOtherThan(first);
  await vi.waitFor(async () => expect((await handle.describe()).runId).not.toBe(nextRunId), patient);
  return { ...handle, nextRunId };
}

/** A lease replaces two tokens at once, refuses the third, and forgets that when no caller asks again. */
export const refusalForgotten = withLease(async ({ renew, tokenOtherThan, failure, published }) => {
  await renew(null);
  let token = await tokenOtherThan(undefined);
  for (let times = 0; times < 2; times += 1) {
    await renew(token);
    token = await tokenOtherThan(token);
  }
  await renew(token);
  await failure('credentialsRejected');
  await vi.waitFor(async () => expect((await published())?.failure).toBeNull(), { ...patient, timeout: 120_000 });
});

/** A lease that no reader uses, to its end: it takes minutes. */
export const idleLease = withLease(async ({ handle, renew }) => {
  await renew(null);
  await completed(handle);
});
