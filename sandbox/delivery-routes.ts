import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { eventTypes } from '../src/domain/subscription/subscription.js';
import { command } from './command-input.js';
import type { DeliveryCommands } from './delivery-commands.js';
import { DeliveryRequestSchema } from './delivery-requests.js';
import { DeliveryChangeSchema } from './delivery-settings.js';
import { NewSubscriberSchema } from './subscribers.js';

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
