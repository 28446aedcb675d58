import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { OrderChange } from '../../../src/domain/order/trail.js';
import { receiverSecret, toWebhookSecret } from '../../../src/notify-http/sender.js';
import { type ReceiverName, type receiverFaults, receiverNames } from './plan.js';

/** One request of a notice that arrived. */
export interface ReceivedNotice {
  path: string;
  /** The same for all attempts. */
  id: string;
  at: number;
  /** What was answered; null: nothing. */
  answer: number | null;
  change: OrderChange;
}

type Behaviour = 'well' | (typeof receiverFaults)[number];

/** A service that receives notices over real HTTP. */
export interface Receiver {
  origin: string;
  behave(behaviour: Behaviour): void;
  received: readonly ReceivedNotice[];
  /** Requests that are not signed for this receiver. */
  unverified(): number;
  close(): void;
}

const slowMs = { least: 500, most: 3_000 };
/** A path that wants no more after its first notice. */
const leaving = '/leaving/';

/** Paths at which a receiver takes notices of an order. */
export const noticePaths = (orderId: string): { staying: string; leaving: string } => ({
  staying: `/orders/${orderId}`,
  leaving: `${leaving}${orderId}`,
});

/** Starts all receivers. `secret`: that of the workers, from which each origin's own is made. */
export async function openReceivers(secret: Uint8Array): Promise<Record<ReceiverName, Receiver>> {
  const opened = await Promise.all(receiverNames.map(async (name) => [name, await openReceiver(secret)] as const));
  return Object.fromEntries(opened) as Record<ReceiverName, Receiver>;
}

async function openReceiver(secret: Uint8Array): Promise<Receiver> {
  const received: ReceivedNotice[] = [];
  let behaviour: Behaviour = 'well';
  let unverified = 0;
  let webhook: Webhook | undefined;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { url: path = '', headers } = request;
    const change = verify(Buffer.concat(chunks), headers as Record<string, string>);
    const notice: ReceivedNotice | null = change && {
      ...{ path, id: String(headers['webhook-id']), at: Date.now() },
      ...{ answer: null, change },
    };
    if (notice) received.push(notice);
    else unverified += 1;
    if (behaviour === 'hang') return; // until the fault is over
    if (behaviour === 'slow') await sleep(slowMs.least + Math.random() * (slowMs.most - slowMs.least));
    const answer = behaviour === 'fail' ? 500 : notice ? answerTo(notice) : 401;
    response.writeHead(answer).end();
    if (notice && !response.destroyed) notice.answer = answer;
  }

  function verify(body: Buffer, headers: Record<string, string>): OrderChange | null {
    try {
      const event = webhook?.verify(body, headers) as { data: OrderChange } | undefined;
      return event?.data ?? null;
    } catch {
      return null;
    }
  }

  const answerTo = ({ path, id }: ReceivedNotice): number =>
    path.startsWith(leaving) && received.some((one) => one.path === path && one.id !== id) ? 410 : 204;

  const server: Server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  let connections = 0;
  server.on('connection', (socket) => {
    connections += 1;
    if (behaviour === 'reset') setTimeout(() => socket.resetAndDestroy(), connections % 21);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  webhook = new Webhook(toWebhookSecret(receiverSecret(secret, origin)));
  return {
    origin,
    behave(next) {
      behaviour = next;
      server.closeAllConnections();
    },
    received,
    unverified: () => unverified,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
