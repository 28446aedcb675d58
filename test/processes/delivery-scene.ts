import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, vi } from 'vitest';
import { startDevServer } from '../../dev/stack/temporal/dev-server.js';
import { toAccountName } from '../../src/domain/keys.js';
import type { SubscriptionStatus } from '../../src/domain/subscription/status.js';
import type { EventType } from '../../src/domain/subscription/subscription.js';
import { subscriptionStatusQuery } from '../../src/workflows/messages.js';
import type { SubscriptionProgress } from '../../src/workflows/subscription/subscription.js';
import type { WorkerEnv } from '../support/accounts.js';
import { jsonFile } from '../support/json-file.js';
import { subscribe } from '../support/subscription/subscriptions.js';
import { startFleet } from '../support/worker/fleet.js';
import { type IngressProcess, startIngressProcess } from '../support/worker/process.js';

/** The account whose orders are delivered. */
export const business = toAccountName('business');

export type SubscriptionHandle = Awaited<ReturnType<typeof subscribe>>['handle'];
export type DeliveryScene = Awaited<ReturnType<typeof openDeliveryScene>>;

/**
 * A sandbox and one worker process, with a Temporal server of their own: a subscription is named by account and event type
 * alone, and other tests subscribe, too.
 */
export async function openDeliveryScene(more: WorkerEnv = {}, requestsPerSecond?: number) {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-scene-'));
  const databaseFile = join(folder, 'temporal.db');
  const server = await startDevServer({ program: inject('temporalProgram'), databaseFile });
  const webhookKeys = `w1:${randomBytes(32).toString('base64url')}`;
  const env = { FARETRAIL_WEBHOOK_KEYS: webhookKeys, ...more };
  const budget = requestsPerSecond === undefined ? {} : { requestsPerSecond };
  const fleet = await startFleet(1, { env, address: server.address, ...budget });
  const ingresses: IngressProcess[] = [];
  return {
    fleet,
    /** Of the Temporal server. */
    databaseFile,
    /** One more ingress process, with a journal of its own. `delivery` and `pointers` are those parts of its contract profile. */
    async startIngress(delivery: object = {}, pointers: object = {}) {
      const ingress = await startIngressProcess({
        ...fleet.env,
        FARETRAIL_JOURNAL_DIR: join(folder, `journal-${ingresses.length}`),
        FARETRAIL_CONTRACT_FILE: jsonFile({ delivery, pointers }),
      });
      ingresses.push(ingress);
      return ingress;
    },
    /** Asks for deliveries to an ingress at `publicUrl`, and does not wait for them to be in place. */
    subscribe: async (eventType: EventType, publicUrl: string, progress?: SubscriptionProgress) =>
      (await subscribe(fleet.place, { eventType, publicUrl }, progress, '')).handle,
    /** A new order whose changes are delivered; the sandbox keeps it in this status. */
    newOrder: (status: string) => fleet.newOrder('business', [[status, 0]]),
    async close() {
      await Promise.all(ingresses.map((ingress) => ingress.stop()));
      await fleet.close();
      await server.stop();
    },
  };
}

/** Resolves once an address is in force. */
export async function active(handle: SubscriptionHandle, timeout = 180_000): Promise<SubscriptionStatus> {
  const isActive = async () => expect((await handle.query(subscriptionStatusQuery)).state).toBe('active');
  await vi.waitFor(isActive, { timeout, interval: 200 }); // also outside of a test
  return await handle.query(subscriptionStatusQuery);
}
