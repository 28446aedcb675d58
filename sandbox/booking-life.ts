import type { SandboxOrder } from './orders.js';
import { sampleOrders } from './sample-orders.js';

type Script = SandboxOrder['script'];

/** The life of an order that is picked up as soon as possible. */
export const onDemandLife = (): Script => [...sampleOrders.onDemand.script];

/** The life of a scheduled order, at a sandbox of this speed, from `now` on. The pick-up is when it is scheduled for,
 *  in real time; only the steps around it run at the speed. */
export function scheduledLife(scheduledAt: string, speed: number, now: number): Script {
  const { script, pickupAfterMs } = sampleOrders.scheduled;
  const leadMs = Math.max(0, Date.parse(scheduledAt) - now) * speed;
  return script.map(({ status, afterMs }, i) => ({
    status,
    afterMs: i === 0 ? 0 : Math.max(0, leadMs + afterMs - pickupAfterMs),
  }));
}
