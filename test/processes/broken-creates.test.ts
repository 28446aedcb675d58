import { Client, Connection } from '@temporalio/client';
import { describe, expect, inject, it, vi } from 'vitest';
import { type Sandbox, sandboxCredentials, startSandbox } from '../../dev/sandbox/sandbox.js';
import { toAccountName } from '../../src/domain/keys.js';
import { workerEnv } from '../support/accounts.js';
import { jsonFile } from '../support/json-file.js';
import { patient } from '../support/patience.js';
import { goesOn, type RideRun, repeatsCreates, requestedRide, stands } from '../support/ride/rides.js';
import { type BrokenAnswer, brokenAnswers, startBreakingFront } from '../support/server/breaking-front.js';
import { createAuthority } from '../support/server/certificates.js';
import { startWorkerProcess } from '../support/worker/process.js';

// A create is carried out, and its answer is lost on a real connection with TLS. The worker is a process of its own.

const authority = createAuthority('services');
const certificate = authority.server();

/** A business account at a front that breaks the answer to its first create. */
async function openPlace(answer: BrokenAnswer, account: string, sandbox: Sandbox) {
  const place = { answer, account, creates: 0 };
  const front = await startBreakingFront(sandbox.url, certificate, async ({ method, url = '' }) => {
    if (method !== 'POST' || !url.startsWith('/v1/orders?')) return undefined;
    place.creates += 1;
    return place.creates > 1 ? undefined : answer;
  });
  return Object.assign(place, front);
}

/** A file of business accounts, each with the address of its service. */
function businessAccountsFile(places: readonly { account: string; url: string }[]): string {
  const { clientId, businessId } = sandboxCredentials.business;
  const clientSecret = { env: 'TEST_BUSINESS_SECRET' };
  const shared = { interface: 'business', clientId, clientSecret, businessId, requestsPerSecond: 1_000 };
  return jsonFile({
    accounts: Object.fromEntries(places.map(({ account, url }) => [account, { ...shared, baseUrl: url }])),
  });
}

interface BrokenRide {
  handle: RideRun;
  /** The first order that was made. */
  orderId(): string;
  /** How many creates were sent, and how many orders the service made of them. */
  counts(): { answer: BrokenAnswer; creates: number; orders: number };
}

/** Requests a ride for each broken answer, all at once, and ends it after it was judged. */
async function withEachRide(isRepeatable: boolean, judge: (ride: BrokenRide) => Promise<void>): Promise<void> {
  const sandbox = await startSandbox();
  sandbox.setRideSettings({ script: goesOn, forgetsRequestIds: !isRepeatable });
  const answers = Object.keys(brokenAnswers) as BrokenAnswer[];
  const places = await Promise.all(answers.map((answer, index) => openPlace(answer, `account-${index}`, sandbox)));
  const env = workerEnv(sandbox.url, {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    FARETRAIL_ACCOUNTS_FILE: businessAccountsFile(places),
    FARETRAIL_LOG_LEVEL: 'info',
    NODE_EXTRA_CA_CERTS: authority.ca,
    ...(isRepeatable ? repeatsCreates : {}),
  });
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  const at = { client: new Client({ connection }), config: { taskQueue: env.FARETRAIL_TASK_QUEUE ?? '' } };
  const worker = await startWorkerProcess(env);

  async function request(place: (typeof places)[number]): Promise<BrokenRide> {
    const { handle, requestId } = await requestedRide(at, { account: toAccountName(place.account) });
    const sent = `ride.${place.account}.${requestId}`;
    const made = () => sandbox.createdOrders().filter((order) => order.requestId === sent);
    return {
      handle,
      orderId: () => made()[0]?.orderId ?? '',
      counts: () => ({ answer: place.answer, creates: place.creates, orders: made().length }),
    };
  }

  try {
    const rides = await Promise.all(places.map(request));
    await Promise.all(
      rides.map(async (ride) => {
        await judge(ride);
        const counted = ride.counts();
        await ride.handle.executeUpdate('cancelRide');
        expect(await ride.handle.result()).toMatchObject({ outcome: 'cancelled' });
        expect(ride.counts()).toEqual(counted);
      }),
    );
  } finally {
    await worker.stop();
    await connection.close();
    for (const { close } of places) close();
    await sandbox.close();
  }
}

const timeout = { timeout: 280_000 };

describe.concurrent('creates that a broken connection answered', () => {
  it('are one request by default, at a service that forgets request ids', timeout, async () => {
    await withEachRide(false, async ({ handle, orderId, counts }) => {
      await stands(handle, { stage: 'requesting', orderId: null, attention: { code: 'outcomeUnknown' } });
      expect(counts()).toMatchObject({ creates: 1, orders: 1 });
      await handle.executeUpdate('resolveRide', { args: [{ orderId: orderId() }] });
      await stands(handle, { stage: 'following', orderId: orderId(), attention: null });
    });
  });

  it('make one order where repeats are safe, without a person', timeout, async () => {
    await withEachRide(true, async ({ handle, orderId, counts }) => {
      await vi.waitFor(() => expect(orderId()).not.toBe(''), patient);
      await stands(handle, { stage: 'following', orderId: orderId(), attention: null });
      expect(counts()).toMatchObject({ creates: 2, orders: 1 });
    });
  });
});
