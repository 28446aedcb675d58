import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxControl } from '../../sandbox/control/client.js';

/** One delivery of a stranger about an order that does not exist. */
export interface Invention {
  orderId: string;
  at: number;
  ms: number;
  /** HTTP status; null: no answer. */
  answer: number | null;
  acknowledgedAs?: string;
  /** Does a refusal say when to send again? */
  saysWhen: boolean;
}

/** A stranger who knows address and secret of the subscription. */
export interface Stranger {
  /** Sends deliveries for so long, each about another order. */
  flood(forMs: number): Promise<void>;
  sent: readonly Invention[];
  floods: readonly { beganAt: number; endedAt: number }[];
}

const everyMs = 20;

/** `header`: where the signature stands in a delivery. */
export function createStranger(sandbox: SandboxControl, header: string): Stranger {
  const sent: Invention[] = [];
  const floods: { beganAt: number; endedAt: number }[] = [];

  async function send(address: string, secret: string): Promise<void> {
    const orderId = `invented-${sent.length}`;
    const invention: Invention = { orderId, at: Date.now(), ms: 0, answer: null, saysWhen: false };
    sent.push(invention);
    const body = JSON.stringify({ event_type: 'status_changed', order_id: orderId, status: 'Driving' });
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('base64')}`;
    const request = { method: 'POST', body, headers: { [header]: signature }, signal: AbortSignal.timeout(10_000) };
    const answer = await fetch(address, request).catch(() => null);
    const text = await answer?.text().catch(() => '');
    invention.ms = Date.now() - invention.at;
    if (!answer) return;
    invention.answer = answer.status;
    invention.saysWhen = answer.headers.has('retry-after');
    if (answer.status === 202) invention.acknowledgedAs = (JSON.parse(text ?? '') as { deliveryId: string }).deliveryId;
  }

  return {
    async flood(forMs) {
      const subscriber = (await sandbox.subscribers().catch(() => [])).at(-1);
      if (!subscriber) return;
      const beganAt = Date.now();
      const sending: Promise<void>[] = [];
      for (let next = beganAt; next < beganAt + forMs; next += everyMs) {
        await sleep(Math.max(0, next - Date.now()));
        sending.push(send(subscriber.hookAddress, subscriber.secretId).catch(() => undefined));
      }
      await Promise.all(sending);
      floods.push({ beganAt, endedAt: Date.now() });
    },
    sent,
    floods,
  };
}
