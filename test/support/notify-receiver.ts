import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { OrderEvent } from '../../src/domain/order-change.js';
import type { WorkerEnv } from './accounts.js';

/** One request that came. */
export interface ReceivedNotice {
  path: string;
  id: string;
  at: number;
  /** What was answered. */
  status: number;
  event: OrderEvent;
}

/** A service that is told of changes by URL. It answers 401 to what is not signed with its secret. */
export interface NotifyReceiver {
  origin: string;
  /** For the environment of the worker. */
  env: WorkerEnv;
  received: ReceivedNotice[];
  /** The next answers at a path; the last one goes on for ever. 204 where nothing is set. */
  answer(path: string, ...statuses: number[]): void;
  /** The statuses of which a path has taken notice. */
  taken(path: string): (string | null)[];
  close(): Promise<void>;
}

const secret = Buffer.alloc(32, 7);

export async function startNotifyReceiver(): Promise<NotifyReceiver> {
  const verifier = new Webhook(`whsec_${secret.toString('base64')}`);
  const answers = new Map<string, number[]>();
  const received: ReceivedNotice[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { url: path = '', headers } = request;
    const statuses = answers.get(path) ?? [204];
    const status = statuses.length > 1 ? (statuses.shift() ?? 204) : (statuses[0] ?? 204);
    try {
      const event = verifier.verify(Buffer.concat(chunks), headers as Record<string, string>) as OrderEvent;
      received.push({ path, id: String(headers['webhook-id']), at: Date.now(), status, event });
      response.writeHead(status).end();
    } catch {
      response.writeHead(401).end();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    env: {
      FARETRAIL_NOTIFY_ORIGINS: origin,
      FARETRAIL_NOTIFY_SECRETS: `n1:${secret.toString('base64url')}`,
      FARETRAIL_NOTIFY_PRIVATE: 'true',
    },
    received,
    answer: (path, ...statuses) => void answers.set(path, statuses),
    taken: (path) =>
      received.filter((one) => one.path === path && one.status < 300).map(({ event }) => event.rawStatus),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
