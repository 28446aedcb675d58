import { onTestFinished } from 'vitest';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { createDeliveryReader } from '../../src/contracts/delivery-body.js';
import { toAccountName } from '../../src/domain/keys.js';
import type { AcceptedGeneration, EventType, SubscriptionMemo } from '../../src/domain/subscription/subscription.js';
import { type SubscriptionKey, subscriptionId } from '../../src/domain/workflow-ids.js';
import { createNamedKey, type KeyRing } from '../../src/sealing/key-ring.js';
import { createSealer, type Sealer } from '../../src/sealing/sealer.js';
import { createWebhookPaths, type WebhookPaths } from '../../src/sealing/webhook-paths.js';
import { createAcceptedSubscriptions } from '../../src/webhooks/accepted-subscriptions.js';
import type { DeliveryFact, IngressObserver } from '../../src/webhooks/ingress-observer.js';
import { createDeliveryIntake, type DeliveryStore } from '../../src/webhooks/intake.js';
import type { JournaledDelivery } from '../../src/webhooks/journal/entries.js';
import { createLaterCheck, type LaterCheck } from '../../src/webhooks/later-check.js';
import type { SecretSighting } from '../../src/webhooks/secret-sighting.js';
import { type Deadlines, type IngressServer, startIngressServer } from '../../src/webhooks/server.js';
import { createVerification, type VerificationSettings } from '../../src/webhooks/verification.js';

export const account = toAccountName('business');
export const businessId = '7b0c1d7e-5a53-4d7e-9d0c-1f2a3b4c5d6e';
export const secretId = '0b1f6c0e-93a4-4f0d-8c57-5e2d1c0b9a88';
export const webhookKeys: KeyRing = [createNamedKey('w1', new Uint8Array(32).fill(7))];

/** An ingress over HTTP with a store in memory and subscriptions that the test sets. */
export interface IngressStand {
  url: string;
  server: IngressServer;
  paths: WebhookPaths;
  sealer: Sealer;
  store: DeliveryStore & { deliveries: JournaledDelivery[]; failWith: Error | null };
  /** What each subscription accepts; an `Error` stands for a Temporal that does not answer. */
  memos: Map<string, SubscriptionMemo | Error>;
  facts: DeliveryFact[];
  sightings: SecretSighting[];
  failures: unknown[];
  laterCheck: LaterCheck;
  /** How many memos the ingress has read so far. */
  reads(): number;
  addressOf(generation?: string, eventType?: EventType): string;
  post(body: string | Uint8Array, init?: RequestInit & { address?: string }): Promise<Reply>;
  close(): Promise<void>;
}

export interface Reply {
  status: number;
  type: string | null;
  retryAfter: string | null;
  text: string;
}

export interface StandOptions {
  verification?: VerificationSettings;
  deadlines?: Partial<Deadlines>;
  memo?: SubscriptionMemo | Error;
}

/** An address in force whose secret is `secretId`. */
export async function accepted(sealer: Sealer, over: Partial<AcceptedGeneration> = {}): Promise<AcceptedGeneration> {
  const context = subscriptionId({ account, eventType: 'status_changed' });
  const secrets = [await sealer.seal(secretId, context)];
  return { generation: 'g1', until: null, secrets, isSecretLost: false, ...over };
}

/** An ingress that is closed after the test. */
export async function aStand(options: StandOptions = {}): Promise<IngressStand> {
  const stand = await startIngressStand(options);
  onTestFinished(() => stand.close());
  return stand;
}

export async function startIngressStand(options: StandOptions = {}): Promise<IngressStand> {
  const sealer = createSealer(webhookKeys);
  const paths = createWebhookPaths(webhookKeys);
  const verification = createVerification(options.verification ?? { mode: 'path' });
  const memos = new Map<string, SubscriptionMemo | Error>();
  for (const eventType of ['status_changed', 'business_report'] as const)
    memos.set(subscriptionId({ account, eventType }), options.memo ?? { accepted: [await accepted(sealer)] });
  const { subscriptions, reads } = countedSubscriptions(memos, sealer);
  const store = memoryStore();
  const { observer, ...told } = recorder();
  const { pointers, statuses } = defaultContractProfile;
  const intake = createDeliveryIntake({
    accounts: [{ name: account, businessId }],
    readCapability: paths.readCapability,
    readBody: createDeliveryReader(pointers.delivery, statuses.notOrderStatus),
    subscriptions,
    verification,
    sealer,
    store,
    observer,
  });
  const server = await startIngressServer({
    host: '127.0.0.1',
    port: 0,
    intake,
    observer,
    whyNotReady: store.whyNotReady,
    metricsPage: async () => ({ type: 'text/plain', body: 'some 1\n' }),
    ...(options.deadlines && { deadlines: options.deadlines }),
  });
  const url = `http://127.0.0.1:${server.port}`;
  const addressOf = (generation = 'g1', eventType: EventType = 'status_changed'): string =>
    url + paths.pathOf({ account, eventType, generation });
  return {
    ...{ url, server, paths, sealer, store, memos, reads, addressOf, ...told },
    laterCheck: createLaterCheck({ subscriptions, verification, sealer }),
    post: (body, { address = addressOf(), ...init } = {}) => send(address, body, init),
    close: () => server.close(),
  };
}

function countedSubscriptions(memos: Map<string, SubscriptionMemo | Error>, sealer: Sealer) {
  let count = 0;
  const read = async (key: SubscriptionKey): Promise<SubscriptionMemo | null> => {
    count += 1;
    const memo = memos.get(subscriptionId(key)) ?? null;
    if (memo instanceof Error) throw memo;
    return memo;
  };
  return { subscriptions: createAcceptedSubscriptions({ read, unseal: sealer.unseal }), reads: () => count };
}

function memoryStore(): IngressStand['store'] {
  const store: IngressStand['store'] = {
    deliveries: [],
    failWith: null,
    async accept(delivery) {
      if (store.failWith) throw store.failWith;
      store.deliveries.push(delivery);
    },
    whyNotReady: () => store.failWith?.message ?? null,
  };
  return store;
}

function recorder() {
  const facts: DeliveryFact[] = [];
  const sightings: SecretSighting[] = [];
  const failures: unknown[] = [];
  const observer: IngressObserver = {
    delivery: (fact) => facts.push(fact),
    secretSeen: (_key, sighting) => sightings.push(sighting),
    failure: (error) => failures.push(error),
  };
  return { observer, facts, sightings, failures };
}

async function send(address: string, body: string | Uint8Array, init: RequestInit): Promise<Reply> {
  const reply = await fetch(address, { method: 'POST', body: body as NonNullable<RequestInit['body']>, ...init });
  const { status, headers } = reply;
  return {
    status,
    type: headers.get('content-type'),
    retryAfter: headers.get('retry-after'),
    text: await reply.text(),
  };
}
