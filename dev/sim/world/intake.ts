// What an ingress does with a request: the real addresses, signatures and body reader. Sockets are left out.
import type { WorkerConfig } from '../../../src/config.js';
import type { Delivery } from '../../../src/domain/delivery.js';
import { createSealer } from '../../../src/sealing/sealer.js';
import { createWebhookPaths } from '../../../src/sealing/webhook-paths.js';
import { createAcceptedSubscriptions } from '../../../src/webhooks/accepted-subscriptions.js';
import { createAddresses } from '../../../src/webhooks/addresses.js';
import { createBodyReader } from '../../../src/webhooks/body-reader.js';
import type { DeliveryPort } from '../../../src/webhooks/delivery-port.js';
import type { DeliveryCheck } from '../../../src/webhooks/forward/routing.js';
import { createIntake, createLaterCheck, type IntakeAnswer } from '../../../src/webhooks/intake.js';
import { createProofRecord } from '../../../src/webhooks/proof-record.js';
import { createVerification } from '../../../src/webhooks/verification.js';
import type { DeliveryMessage } from '../../sandbox/delivery/writer.js';

export interface IntakeParts {
  config: WorkerConfig;
  port: DeliveryPort;
  /** Makes a delivery durable. */
  keep: (delivery: Delivery) => Promise<void>;
  onFailure: (error: unknown) => void;
}

/** The intake of one process. */
export interface Intake {
  /** For deliveries that were kept before they could be verified. */
  check: DeliveryCheck;
  take: (message: DeliveryMessage) => Promise<IntakeAnswer>;
}

/** Null without webhook keys. */
export function createIntakeOf({ config, port, keep, onFailure }: IntakeParts): Intake | null {
  const { profile, webhookKeys, accounts, deliveriesPerSecond: perSecond } = config;
  if (!webhookKeys) return null;
  const sealer = createSealer(webhookKeys);
  const verification = createVerification(profile.delivery.verification);
  const subscriptions = createAcceptedSubscriptions({ read: port.readSubscription, unseal: sealer.unseal });
  const proofs = createProofRecord({ report: port.reportProofs });
  const { readCapability } = createWebhookPaths(webhookKeys, config.publicUrls);
  const addresses = createAddresses({ accounts, readCapability, perSecond });
  const takeDelivery = createIntake({
    reader: createBodyReader(profile),
    subscriptions,
    verification,
    proofs,
    sealer,
    maxBodyBytes: config.deliveryMaxKb * 1_024,
    store: { accept: keep, whyNotReady: () => null },
    observer: { body: () => undefined, failure: onFailure },
  });
  return {
    check: createLaterCheck({ subscriptions, verification, proofs, sealer }),
    async take({ url, headers, body }) {
      const [, , account = '', eventType = '', capability = ''] = new URL(url).pathname.split('/');
      const address = addresses.find(account, eventType, capability);
      if (!address) return { outcome: 'notFound' };
      const toll = addresses.reserve(address, body.length);
      if (!toll.isPaid) return { outcome: 'tooMany' };
      const inLowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
      return await takeDelivery({ ...address, arrivedAt: Date.now(), toll }, Object.fromEntries(inLowerCase), body);
    },
  };
}
