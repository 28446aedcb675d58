import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type DeliveryEvent, subscribedEvents } from '../delivery/bodies.js';
import { RetriesSchema } from '../delivery/settings.js';

const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]']);

/** A receiver must have HTTPS (given). A sandbox also takes a receiver on the same machine. */
function isHookAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && loopbackHosts.has(url.hostname));
}

/** The body of a subscription: one event type, as a plain string (given), and how often a delivery is sent again (published 2.1, for a neighbour). */
export const SubscriptionBodySchema = z.strictObject({
  hook_address: z.string().refine(isHookAddress, 'must be an https URL, or an http one at a loopback address'),
  event_types: z.enum(subscribedEvents, 'must be one event type, as a string'),
  retries: RetriesSchema.optional(),
});

/** A subscriber that a command adds, without a token. */
export const NewSubscriberSchema = z.strictObject({
  hookAddress: SubscriptionBodySchema.shape.hook_address,
  eventType: SubscriptionBodySchema.shape.event_types,
  retries: SubscriptionBodySchema.shape.retries,
});
export type NewSubscriber = z.infer<typeof NewSubscriberSchema>;

/** One subscription. Its secret and address are for tests only. */
export interface Subscriber {
  id: string;
  hookAddress: string;
  eventType: DeliveryEvent;
  secretId: string;
  /** RFC 3339 with nine fractional digits. */
  createdAt: string;
  /** Undefined: the subscription asks for none, and the settings decide. */
  retries: number | undefined;
}

export type SubscriberBook = ReturnType<typeof createSubscriberBook>;

/** All live subscribers of a sandbox. `onChange` is called after each change. */
export function createSubscriberBook(onChange: () => void) {
  const live = new Map<string, Subscriber>();
  return {
    /** The same address twice makes two subscribers. It is unknown what the service does; this is the harder case. */
    add({ hookAddress, eventType, retries }: NewSubscriber): Subscriber {
      const createdAt = new Date().toISOString().replace('Z', '547841Z');
      const subscriber = { id: randomUUID(), hookAddress, eventType, secretId: randomUUID(), createdAt, retries };
      live.set(subscriber.id, subscriber);
      onChange();
      return subscriber;
    },
    /** False: no such subscriber exists. */
    remove(id: string): boolean {
      const isRemoved = live.delete(id);
      if (isRemoved) onChange();
      return isRemoved;
    },
    find: (id: string): Subscriber | undefined => live.get(id),
    count: (): number => live.size,
    all: (): Subscriber[] => [...live.values()],
    of: (eventType: DeliveryEvent): Subscriber[] => [...live.values()].filter((each) => each.eventType === eventType),
  };
}
