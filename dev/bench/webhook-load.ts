import { randomBytes, randomUUID } from 'node:crypto';
import { toAccountName } from '../../src/domain/keys.js';
import { type KeyRing, parseKeyRing } from '../../src/sealing/key-ring.js';
import { createWebhookPaths } from '../../src/sealing/webhook-paths.js';
import { sandboxProducts } from '../sandbox/ride/catalogue.js';
import { openLanes } from './http-lanes.js';
import type { IngressProcess } from './ingress-process.js';

/** One key for the whole bench, since paths and settings must agree. */
export const webhookKeys = `k1:${randomBytes(32).toString('base64url')}`;
/** The address that the bench's subscription accepts. */
export const generation = 'bench';

const bodyBytes = 2_048;
const account = toAccountName('business');

/** The path of deliveries for the bench's subscription. */
export const webhookPath = createWebhookPaths(ring()).pathOf({ account, eventType: 'status_changed', generation });

function ring(): KeyRing {
  const parsed = parseKeyRing(webhookKeys);
  if ('problems' in parsed) throw new Error(parsed.problems.join());
  return parsed.ring;
}

/** A webhook endpoint, and open connections to it. */
export interface Door {
  ingress: IngressProcess;
  /** Sends one delivery as soon as a connection is free. Gives the status of the answer. */
  deliver(orderId: string, status: string): Promise<number>;
  /** Stops the endpoint, too. */
  close(): Promise<void>;
}

/** The endpoint closes a connection that stayed idle for long after it was opened. */
const tooSlow = 408;

export async function openDoor(starting: Promise<IngressProcess>, lanes: number): Promise<Door> {
  const ingress = await starting;
  const connections = await openLanes(ingress.port, lanes);
  const make = requestMaker(ingress.port);
  return {
    ingress,
    async deliver(orderId, status) {
      const request = make(orderId, status);
      const answer = await connections.send(request);
      return answer === tooSlow ? await connections.send(request) : answer;
    },
    async close() {
      connections.close();
      await ingress.stop();
    },
  };
}

/** Makes requests like those of the service: 2 kB each, no two equal. */
function requestMaker(port: number): (orderId: string, status: string) => string {
  let made = 0;
  return (orderId, status) => {
    made += 1;
    const body = JSON.stringify({
      id: randomUUID(),
      event_type: 'status_changed',
      env: 'sandbox',
      message: JSON.stringify({ order_id: orderId, product_id: sandboxProducts.standard.id, status }),
      timestamp: `${new Date().toISOString().slice(0, -1)}${String(made % 1_000_000).padStart(6, '0')}Z`,
    });
    const padded = `${body.slice(0, -1)},"note":"${'x'.repeat(Math.max(0, bodyBytes - body.length - 10))}"}`;
    const head = `POST ${webhookPath} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-type: application/json\r\n`;
    return `${head}content-length: ${padded.length}\r\n\r\n${padded}`;
  };
}
