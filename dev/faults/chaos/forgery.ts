import type { SandboxControl } from '../../sandbox/control/client.js';
import { createDeliveryWriter, type DeliveryMessage, type Tidings } from '../../sandbox/delivery/writer.js';
import { sandboxProducts } from '../../sandbox/ride/catalogue.js';

/** Makes deliveries as the service does, for a stranger who knows address and secret of the newest subscription. Null: there is none. */
export async function openForgery(sandbox: SandboxControl): Promise<((tidings: Tidings) => DeliveryMessage) | null> {
  const subscriber = (await sandbox.subscribers()).at(-1);
  if (!subscriber) return null;
  const settings = await sandbox.deliverySettings();
  const writer = createDeliveryWriter({ settings: () => settings, productOf: () => sandboxProducts.standard.id });
  return (tidings) => writer.write(subscriber, writer.number(tidings)).message;
}
