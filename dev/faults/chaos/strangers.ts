import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxControl } from '../../sandbox/control/client.js';
import type { DeliveryMessage, Tidings } from '../../sandbox/delivery/writer.js';
import { openForgery, type Posted, post } from './forgery.js';

/** One delivery of a stranger about an order that does not exist. */
export interface Invention extends Posted {
  orderId: string;
}

/** A stranger who knows address and secret of the subscription. */
export interface Stranger {
  /** Sends deliveries for so long, each about another order. */
  flood(forMs: number): Promise<void>;
  sent: readonly Invention[];
  floods: readonly { beganAt: number; endedAt: number }[];
}

const everyMs = 20;

export function createStranger(sandbox: SandboxControl): Stranger {
  const sent: Invention[] = [];
  const floods: { beganAt: number; endedAt: number }[] = [];

  async function send(forge: (tidings: Tidings) => DeliveryMessage): Promise<void> {
    const orderId = `invented-${sent.length}`;
    const invention: Invention = { orderId, at: Date.now(), ms: 0, answer: null, saysWhen: false };
    sent.push(invention);
    Object.assign(invention, await post(forge({ eventType: 'status_changed', orderId, status: 'Driving' })));
  }

  return {
    async flood(forMs) {
      const forge = await openForgery(sandbox).catch(() => null);
      if (!forge) return;
      const beganAt = Date.now();
      const sending: Promise<void>[] = [];
      for (let next = beganAt; next < beganAt + forMs; next += everyMs) {
        await sleep(Math.max(0, next - Date.now()));
        sending.push(send(forge).catch(() => undefined));
      }
      await Promise.all(sending);
      floods.push({ beganAt, endedAt: Date.now() });
    },
    sent,
    floods,
  };
}
