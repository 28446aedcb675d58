import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox.js';
import { loadWorkerConfig, type WorkerConfig } from '../../../src/config.js';
import type { RideInterface } from '../../../src/domain/account.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { OrderTrail } from '../../../src/domain/order/trail.js';
import { businessCallId, followOrderId } from '../../../src/domain/workflow-ids.js';
import { createOrderWorker } from '../../../src/order-worker.js';
import { createRideApi } from '../../../src/ride-api/ride-api.js';
import { workerEnv } from '../../support/accounts.js';
import { isLong } from '../../support/long.js';
import { startFollowing } from '../../support/order/stack.js';
import { patient } from '../../support/patience.js';
import { useTemporal } from '../../support/worker/runtime.js';

/** The clocks of three workers, by how many milliseconds they go ahead. */
const aheadMs = [0, 3_000, -3_000];
const pollMs = isLong ? 1_000 : 500;
const ordersOfAccount = 3;

const temporal = useTemporal();

interface Stage {
  sandbox: Sandbox;
  client: Client;
  config: WorkerConfig;
  /** New orders of this account that stay as they are, followed by the workers; each was read once. */
  followOrders(at: RideInterface): Promise<string[]>;
  attentionOf(at: RideInterface, orderId: string): Promise<string | null>;
  /** The longest times, in milliseconds, between two reads of an order, and from a read that was answered with 401 to the next good one. */
  longestMs(orderIds: readonly string[]): { betweenReads: number; without: number };
  close(): Promise<void>;
}

/** Three workers whose clocks differ, and a sandbox whose tokens live so long. The business interface does not say so. */
async function setUpStage(lifetimeSeconds: number): Promise<Stage> {
  const tokenLifetimeSeconds = lifetimeSeconds;
  const sandbox = await startSandbox({ partner: { tokenLifetimeSeconds }, business: { tokenLifetimeSeconds } });
  sandbox.setFault({ kind: 'tokenAnswer', operation: 'businessToken', with: { expires_in: 'soon' } });
  const config = loadWorkerConfig(workerEnv(sandbox.url, { FARETRAIL_POLL_ACTIVE_MS: String(pollMs) }));
  const address = inject('temporalAddress');
  const { client } = temporal;
  const running = await Promise.all(
    aheadMs.map(async (ahead) => {
      const now = () => Date.now() + ahead;
      const rideApi = createRideApi({ profile: config.profile, now });
      const connection = await NativeConnection.connect({ address }); // one takes one worker for each task queue
      const worker = await createOrderWorker({
        ...{ config, rideApi, connection, client: new Client({ connection }), now, namespace: 'default' },
        workflowBundle: { codePath: inject('workflowBundlePath') },
      });
      const run = async (): Promise<void> => {
        await worker.run();
        await rideApi.close();
        await connection.close();
      };
      return { worker, ended: run() };
    }),
  );
  const looks = (orderId: string) => sandbox.ledger({ orderId }).filter(({ operation }) => /^order/.test(operation));
  const reads = (orderId: string) => looks(orderId).filter(({ httpStatus }) => httpStatus === 200);

  return {
    sandbox,
    client,
    config,
    async followOrders(at) {
      const orderIds = Array.from({ length: ordersOfAccount }, () => randomUUID());
      for (const orderId of orderIds) {
        sandbox.addOrder({ interface: at, orderId, script: [{ status: 'Driving', afterMs: 0 }] });
        await startFollowing({ client, config }, { account: at, orderId });
      }
      await vi.waitFor(() => expect(orderIds.filter((orderId) => reads(orderId).length === 0)).toEqual([]), patient);
      return orderIds;
    },
    async attentionOf(at, orderId) {
      const key = { account: toAccountName(at), orderId: toOrderId(orderId) };
      const trail = await client.workflow.getHandle(followOrderId(key)).query<OrderTrail>('orderTrail');
      return trail.attention?.code ?? null;
    },
    longestMs(orderIds) {
      const longest = { betweenReads: 0, without: 0 };
      for (const orderId of orderIds) {
        let readAt = Number.POSITIVE_INFINITY;
        let rejectedAt = Number.POSITIVE_INFINITY;
        const end = { at: new Date().toISOString(), httpStatus: 200 };
        for (const { at, httpStatus } of [...looks(orderId), end]) {
          const now = Date.parse(at);
          longest.without = Math.max(longest.without, now - rejectedAt);
          if (httpStatus !== 200) {
            rejectedAt = Math.min(rejectedAt, now);
            continue;
          }
          longest.betweenReads = Math.max(longest.betweenReads, now - readAt);
          readAt = now;
          rejectedAt = Number.POSITIVE_INFINITY;
        }
      }
      return longest;
    },
    async close() {
      for (const { worker } of running) worker.shutdown();
      await Promise.all(running.map(({ ended }) => ended));
      await sandbox.close();
    },
  };
}

const lifetimes = isLong ? [15, 25, 45, 70] : [8];
const workMs = isLong ? 600_000 : 15_000;
/** A token request, and in the short form a machine with much other work. */
const mostWithoutTokenMs = isLong ? 3_000 : 10_000;

describe.concurrent.each(lifetimes)('three workers whose clocks differ, and tokens that live %d s', (lifetimeS) => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await setUpStage(lifetimeS);
  });
  afterAll(() => stage?.close());

  it('read all orders all the time, at the cost of one request for each lifetime, whether the service names it or not', {
    timeout: workMs + 60_000,
  }, async ({ expect }) => {
    const { sandbox, client, config } = stage;
    const startedAt = Date.now();
    const orders = { partner: await stage.followOrders('partner'), business: await stage.followOrders('business') };
    // One operation is refused whatever the token: with it the calls of one more account would not be disturbed.
    sandbox.setFault({ kind: 'unauthorized', operation: 'cancelOrder' });
    const end = Date.now() + workMs;
    let refused = 0;
    while (Date.now() < end) {
      const input = { account: toAccountName('business'), operation: 'cancelOrder', key: randomUUID() } as const;
      const options = { workflowId: businessCallId(input), taskQueue: config.taskQueue };
      const args = [{ ...input, orderId: orders.business[0] }];
      const outcome = await client.workflow
        .execute('businessCall', { ...options, args })
        .catch(({ cause }: { cause?: { type?: string } }) => cause?.type);
      expect(outcome).toBe('CredentialsRejected');
      refused += 1;
      await pause(Math.min(workMs / 10, 20_000));
    }
    const seconds = (Date.now() - startedAt) / 1_000;
    const requests = (operation: 'partnerToken' | 'businessToken') => sandbox.ledger({ operation }).length;
    const figures = {
      partner: { requests: requests('partnerToken'), longestMs: stage.longestMs(orders.partner) },
      business: { requests: requests('businessToken'), longestMs: stage.longestMs(orders.business) },
    };
    if (isLong) console.info(`tokens of ${lifetimeS} s, ${refused} refused calls: ${JSON.stringify(figures)}`);
    for (const at of ['partner', 'business'] as const) {
      expect(figures[at].longestMs.without).toBeLessThan(mostWithoutTokenMs);
      for (const orderId of orders[at]) expect(await stage.attentionOf(at, orderId)).toBeNull();
    }
    // A fifth ahead of the end where the service names it. Else at the end, and one more a minute for the call that it refuses.
    expect(figures.partner.requests).toBeLessThanOrEqual(Math.ceil(seconds / (lifetimeS * 0.8)) + 1);
    expect(figures.business.requests).toBeLessThanOrEqual(Math.ceil(seconds / lifetimeS) + Math.ceil(seconds / 60) + 1);
  });
});
