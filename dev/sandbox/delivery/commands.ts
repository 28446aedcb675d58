import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { eventTypes } from '../../../src/domain/subscription/subscription.js';
import { command } from '../control/input.js';
import type { SandboxState } from '../sandbox-state.js';
import { type NewSubscriber, NewSubscriberSchema, type Subscriber } from '../subscription/subscribers.js';
import type { DeliveryAttempt, DeliveryCounts, DeliveryFilter } from './ledger.js';
import { type DeliveryReport, type DeliveryRequestInput, DeliveryRequestSchema } from './requests.js';
import { type DeliveryChange, DeliveryChangeSchema, type DeliverySettings } from './settings.js';

/** Commands about subscribers and deliveries. */
export interface DeliveryCommands {
  /** All live subscribers with their secrets, to check what a client keeps, and to search for leaks. */
  subscribers(): Subscriber[];
  /** Adds a subscriber without a call to the service. */
  addSubscriber(subscriber: NewSubscriber): Subscriber;
  /** False: no such subscriber exists. */
  removeSubscriber(id: string): boolean;
  deliverySettings(): DeliverySettings;
  /** Changes some of the settings. Gives all of them. */
  setDeliverySettings(change: DeliveryChange): DeliverySettings;
  /** Sends deliveries now. Resolves after the first attempt of each. */
  deliver(request: DeliveryRequestInput): Promise<DeliveryReport>;
  /** All attempts so far. */
  deliveries(filter?: DeliveryFilter): DeliveryAttempt[];
  deliveryCounts(): DeliveryCounts;
  resetDeliveries(): void;
}

export const createDeliveryCommands = ({ subscribers, deliveries }: SandboxState): DeliveryCommands => ({
  subscribers: subscribers.all,
  addSubscriber: (subscriber) => subscribers.add(NewSubscriberSchema.parse(subscriber)),
  removeSubscriber: subscribers.remove,
  deliverySettings: deliveries.settings,
  setDeliverySettings: deliveries.setSettings,
  deliver: deliveries.deliver,
  deliveries: deliveries.ledger.entries,
  deliveryCounts: deliveries.ledger.counts,
  resetDeliveries: deliveries.ledger.reset,
});

const Nothing = z.strictObject({});
const Filter = z.strictObject({
  eventType: z.enum(eventTypes).optional(),
  orderId: z.string().optional(),
  subscriberId: z.string().optional(),
});

/** The commands about subscribers and deliveries over HTTP, under `/sandbox/subscribers` and `/sandbox/deliveries`. */
export function addDeliveryRoutes(app: FastifyInstance, commands: DeliveryCommands): void {
  const subscribers = '/sandbox/subscribers';
  app.get(
    subscribers,
    command(Nothing, () => commands.subscribers()),
  );
  app.post(
    subscribers,
    command(NewSubscriberSchema, (subscriber) => commands.addSubscriber(subscriber)),
  );
  app.delete(
    `${subscribers}/:id`,
    command(z.strictObject({ id: z.string() }), ({ id }) => ({ removed: commands.removeSubscriber(id) })),
  );
  const deliveries = '/sandbox/deliveries';
  app.post(
    deliveries,
    command(DeliveryRequestSchema, (request) => commands.deliver(request)),
  );
  app.get(
    deliveries,
    command(Filter, (filter) => commands.deliveries(filter)),
  );
  app.delete(
    deliveries,
    command(Nothing, () => commands.resetDeliveries()),
  );
  app.get(
    `${deliveries}/counts`,
    command(Nothing, () => commands.deliveryCounts()),
  );
  app.get(
    `${deliveries}/settings`,
    command(Nothing, () => commands.deliverySettings()),
  );
  app.put(
    `${deliveries}/settings`,
    command(DeliveryChangeSchema, (change) => commands.setDeliverySettings(change)),
  );
}
