import type { SandboxControl } from '../../sandbox/control/client.js';
import type { DeliveryFlaw } from '../../sandbox/delivery/flaws.js';
import { createDeliveryWriter, type DeliveryMessage, type Tidings } from '../../sandbox/delivery/writer.js';
import { sandboxProducts } from '../../sandbox/ride/catalogue.js';

type Subscriber = Awaited<ReturnType<SandboxControl['subscribers']>>[number];

/** Writes deliveries as the service does. */
export interface Forgery {
  /** Oldest first; at least one. */
  subscribers: readonly Subscriber[];
  write(subscriber: Subscriber, tidings: Tidings, flaw?: DeliveryFlaw): DeliveryMessage;
}

/** Returns null if there is no subscription. */
export async function openForgeries(sandbox: SandboxControl): Promise<Forgery | null> {
  const subscribers = await sandbox.subscribers();
  if (subscribers.length === 0) return null;
  const settings = await sandbox.deliverySettings();
  const writer = createDeliveryWriter({ settings: () => settings, productOf: () => sandboxProducts.standard.id });
  return {
    subscribers,
    write: (subscriber, tidings, flaw) => writer.write(subscriber, writer.number(tidings), { flaw }).message,
  };
}

/**
 * Returns a writer of forged deliveries, by a stranger who knows the address and the secret of the newest subscription.
 * Null if there is no subscription.
 */
export async function openForgery(sandbox: SandboxControl): Promise<((tidings: Tidings) => DeliveryMessage) | null> {
  const forgery = await openForgeries(sandbox);
  const subscriber = forgery?.subscribers.at(-1);
  return forgery && subscriber ? (tidings) => forgery.write(subscriber, tidings) : null;
}

/** The answer to a delivery. */
export interface Posted {
  /** When it was sent, in milliseconds since the epoch. */
  at: number;
  /** Response time in milliseconds. */
  ms: number;
  /** HTTP status, or null without an answer. */
  answer: number | null;
  acknowledgedAs?: string;
  /** Does a refusal say when to send again? */
  saysWhen: boolean;
}

const answerWithinMs = 10_000;

/** Sends a delivery once. Never rejects. */
export async function post({ url, headers, body }: DeliveryMessage): Promise<Posted> {
  const at = Date.now();
  const began = performance.now();
  const request = { method: 'POST', body: body.toString(), headers, signal: AbortSignal.timeout(answerWithinMs) };
  const answer = await fetch(url, request).catch(() => null);
  const text = await answer?.text().catch(() => '');
  const ms = Math.round(performance.now() - began);
  if (!answer) return { at, ms, answer: null, saysWhen: false };
  const id = answer.status === 202 ? /"deliveryId":"([0-9a-f]+)"/.exec(text ?? '')?.[1] : undefined;
  return {
    at,
    ms,
    answer: answer.status,
    saysWhen: answer.headers.has('retry-after'),
    ...(id !== undefined && { acknowledgedAs: id }),
  };
}
