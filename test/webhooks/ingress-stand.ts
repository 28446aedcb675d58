import { createHmac } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { ContractProfile } from '../../src/contracts/contract-profile.js';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import type { Delivery } from '../../src/domain/delivery.js';
import { toAccountName } from '../../src/domain/keys.js';
import type { ProofCounts } from '../../src/domain/subscription/proofs.js';
import type { AcceptedGeneration, EventType, SubscriptionMemo } from '../../src/domain/subscription/subscription.js';
import { type SubscriptionKey, subscriptionId } from '../../src/domain/workflow-ids.js';
import { createIngressMetrics } from '../../src/observability/metrics.js';
import { readPage } from '../../src/observability/metrics-server.js';
import { createNamedKey, type KeyRing } from '../../src/sealing/key-ring.js';
import { createSealer, type Sealer } from '../../src/sealing/sealer.js';
import { createWebhookPaths } from '../../src/sealing/webhook-paths.js';
import { createAcceptedSubscriptions } from '../../src/webhooks/accepted-subscriptions.js';
import { createAddresses } from '../../src/webhooks/addresses.js';
import { createBodyReader } from '../../src/webhooks/body-reader.js';
import { createIntake, createLaterCheck } from '../../src/webhooks/intake.js';
import type { DeliveryFact, IngressObserver } from '../../src/webhooks/observer.js';
import { createProofRecord } from '../../src/webhooks/proof-record.js';
import { type Deadlines, startIngressServer } from '../../src/webhooks/server.js';
import { createVerification, type VerificationSettings } from '../../src/webhooks/verification.js';

export const account = toAccountName('business');
export const businessId = '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e';
export const secretId = '0b1f6c0e-93a4-4f0d-8c57-5e2d1c0b9a88';
export const webhookKeys: KeyRing = [createNamedKey('w1', new Uint8Array(32).fill(7))];

/** A signature is compulsory from the first delivery on. */
export const byMac = {
  mode: 'hmac',
  header: 'X-Mac',
  algorithm: 'sha256',
  encoding: 'base64',
  prefix: 'sha256=',
  over: 'received',
} as const;

/** The signature as the service makes it (published.md 2.1). */
export const signatureOf = (body: string | Uint8Array, key = secretId): string =>
  `sha256=${createHmac('sha256', key).update(body).digest('base64')}`;

interface StandOptions {
  verification?: VerificationSettings;
  /** Where the profile looks into deliveries, if not where the default one does. */
  pointers?: Partial<ContractProfile['pointers']['delivery']>;
  /** Where deliveries are kept; default: the list of the stand. */
  accept?: (delivery: Delivery) => Promise<void>;
  deadlines?: Partial<Deadlines>;
  /** What every subscription accepts; an `Error` stands for a Temporal that does not answer. */
  memo?: SubscriptionMemo | Error;
  /** What is told of deliveries; default: the lists of the stand. */
  observer?: IngressObserver;
  /** What an address may send; default: any number. */
  perSecond?: number;
}

/** An address in force whose secret is `secretId`. */
export async function accepted(sealer: Sealer, over: Partial<AcceptedGeneration> = {}): Promise<AcceptedGeneration> {
  const context = subscriptionId({ account, eventType: 'status_changed' });
  const secrets = [await sealer.seal(secretId, context)];
  return { generation: 'g1', until: null, secrets, isSecretLost: false, ...over };
}

export type IngressStand = Awaited<ReturnType<typeof startIngressStand>>;

/** An ingress that is closed after the test. */
export async function aStand(options: StandOptions = {}): Promise<IngressStand> {
  const stand = await startIngressStand(options);
  onTestFinished(() => stand.close());
  return stand;
}

/** An ingress over HTTP with a store in memory and subscriptions that the test sets. */
export async function startIngressStand(options: StandOptions = {}) {
  const sealer = createSealer(webhookKeys);
  const paths = createWebhookPaths(webhookKeys);
  const verification = createVerification(options.verification ?? defaultContractProfile.delivery.verification);
  /** What each subscription accepts. */
  const memos = new Map<string, SubscriptionMemo | Error>();
  for (const eventType of ['status_changed', 'business_report'] as const)
    memos.set(subscriptionId({ account, eventType }), options.memo ?? { accepted: [await accepted(sealer)] });
  let reads = 0;
  const read = async (given: SubscriptionKey) => {
    const key = structuredClone(given); // as it goes to the thread that speaks with Temporal
    reads += 1;
    const memo = memos.get(subscriptionId(key)) ?? null;
    if (memo instanceof Error) throw memo;
    return memo;
  };
  const subscriptions = createAcceptedSubscriptions({ read, unseal: sealer.unseal });
  const store = memoryStore(options.accept);
  const { registry } = createIngressMetrics();
  const observed = {
    facts: [] as DeliveryFact[],
    headers: [] as string[],
    reports: [] as ProofCounts[],
    failures: [] as unknown[],
    bodies: [] as string[],
  };
  const observer: IngressObserver = options.observer ?? {
    delivery: (fact) => void observed.facts.push(fact),
    body: (_key, outcome, body) => void observed.bodies.push(`${outcome} ${body}`),
    verified: (_key, { header }) => void observed.headers.push(header),
    failure: (error) => void observed.failures.push(error),
    notReported: () => undefined,
    notForwarded: () => undefined,
  };
  const { pointers, statuses } = defaultContractProfile;
  const delivery = { ...pointers.delivery, ...options.pointers };
  const reader = createBodyReader({ pointers: { ...pointers, delivery }, statuses });
  const proofs = createProofRecord({
    report: async (key, counts) => observed.reports.push(structuredClone({ key, counts }).counts) > 0,
    onVerified: observer.verified,
  });
  const maxBodyBytes = 32 * 1_024;
  const intake = { reader, subscriptions, verification, proofs, sealer, store, maxBodyBytes, observer };
  const takeDelivery = createIntake(intake);
  const server = await startIngressServer({
    ...{ host: '127.0.0.1', port: 0, takeDelivery, maxBodyBytes, observer },
    headersToCheck: verification.headersToCheck,
    addresses: createAddresses({
      accounts: [{ name: account, businessId }],
      readCapability: paths.readCapability,
      perSecond: options.perSecond ?? null,
    }),
    readPage: (path) => readPage(path, { registry, isLive: () => true, whyNotReady: store.whyNotReady }),
    ...(options.deadlines && { deadlines: options.deadlines }),
  });
  const url = `http://127.0.0.1:${server.port}`;
  const addressOf = (generation = 'g1', eventType: EventType = 'status_changed'): string =>
    url + paths.pathOf({ account, eventType, generation });
  return {
    ...{ url, paths, sealer, store, memos, addressOf, ...observed },
    /** How many memos the ingress has read so far. */
    reads: () => reads,
    laterCheck: createLaterCheck({ subscriptions, verification, proofs, sealer }),
    post: (body: string | Uint8Array, { address = addressOf(), ...init }: RequestInit & { address?: string } = {}) =>
      send(address, body, init),
    close: () => server.close(),
  };
}

function memoryStore(accept?: StandOptions['accept']) {
  const store = {
    deliveries: [] as Delivery[],
    failWith: null as Error | null,
    async accept(delivery: Delivery) {
      if (store.failWith) throw store.failWith;
      await accept?.(delivery);
      store.deliveries.push(delivery);
    },
    whyNotReady: () => store.failWith?.message ?? null,
  };
  return store;
}

async function send(address: string, body: string | Uint8Array, init: RequestInit) {
  const reply = await fetch(address, { method: 'POST', body: body as NonNullable<RequestInit['body']>, ...init });
  const { status, headers } = reply;
  const [type, retryAfter] = ['content-type', 'retry-after'].map((name) => headers.get(name));
  return { status, type, retryAfter, text: await reply.text() };
}
