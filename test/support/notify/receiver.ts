import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll } from 'vitest';
import type { OrderChange, OrderEvent } from '../../../src/domain/order/trail.js';
import { receiverSecret, toWebhookSecret } from '../../../src/notify-http/sender.js';
import type { WorkerEnv } from '../accounts.js';
import type { OrderStack } from '../order/stack.js';
import { signalsTo } from '../runs.js';
import type { CertificateFiles } from '../server/certificates.js';

/** One request that came. */
export interface ReceivedNotice {
  path: string;
  id: string;
  at: number;
  /** What was answered. */
  status: number;
  /** About a ride `data` has other fields. */
  event: Omit<OrderEvent, 'type'> & { type: string };
  /** The header of that name. */
  traceparent: string;
}

/** The id of a notice without the part that stands for its contents. */
export const numberOf = ({ id }: { id: string }): string => id.slice(0, id.lastIndexOf('_'));

/** A service that takes notices at URLs. It answers 401 to what is not signed for it. */
export type NotifyReceiver = Awaited<ReturnType<typeof startNotifyReceiver>>;

const secret = Buffer.alloc(32, 7);
const verifierOf = (origin: string) => new Webhook(toWebhookSecret(receiverSecret(secret, origin)));

/** One for all tests of a file; it can be used from their `beforeAll` on. */
export function useNotifyReceiver(): NotifyReceiver {
  const receiver = {} as NotifyReceiver;
  beforeAll(async () => void Object.assign(receiver, await startNotifyReceiver()));
  afterAll(() => receiver.close?.());
  return receiver;
}

/** `tls`: files with a certificate for `localhost` and its key; without them it speaks plain HTTP. */
export async function startNotifyReceiver({ tls }: { tls?: CertificateFiles } = {}) {
  const answers = new Map<string, number[]>();
  const received: ReceivedNotice[] = [];
  let refused = 0;
  const listener: RequestListener = async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { url: path = '', headers } = request;
    const statuses = answers.get(path) ?? [204];
    const status = statuses.length > 1 ? (statuses.shift() ?? 204) : (statuses[0] ?? 204);
    try {
      const event = verifierOf(origin).verify(Buffer.concat(chunks), headers as Record<string, string>) as OrderEvent;
      const traceparent = String(headers.traceparent);
      received.push({ path, id: String(headers['webhook-id']), at: Date.now(), status, event, traceparent });
      response.writeHead(status).end();
    } catch {
      refused += 1;
      response.writeHead(401).end();
    }
  };
  const server = tls
    ? createTlsServer({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, listener)
    : createServer(listener);
  let accepted = 0;
  let resetsUntil = 0;
  server.on('connection', (socket) => {
    accepted += 1;
    if (Date.now() < resetsUntil) setTimeout(() => socket.resetAndDestroy(), accepted % 21);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const origin = tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`;
  return {
    origin,
    /** For the environment of the worker. */
    env: {
      FARETRAIL_NOTIFY_ORIGINS: origin,
      FARETRAIL_NOTIFY_SECRETS: `n1:${secret.toString('base64url')}`,
      FARETRAIL_NOTIFY_PRIVATE: 'true',
    } as WorkerEnv,
    received,
    /** Requests without a valid signature. */
    refused: () => refused,
    /** The next answers at a path; the last one goes on for ever. 204 where nothing is set. */
    answer: (path: string, ...statuses: number[]) => void answers.set(path, statuses),
    /** For so long it resets each connection 0 to 20 ms after it has accepted it. */
    resetFor(ms: number): void {
      resetsUntil = Date.now() + ms;
      server.closeAllConnections();
    },
    /** The statuses of the notices about orders that a path has taken. */
    taken: (path: string) =>
      received
        .filter((one) => one.path === path && one.status < 300 && one.event.type !== 'ride.changed')
        .map(({ event }) => event.data.rawStatus),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A workflow that takes the signals of `notify`. Its type is known to no worker here, so it keeps all of them in its history. */
export async function startToldWorkflow({ client }: OrderStack) {
  const workflowId = `receiver-${randomUUID()}`;
  const handle = await client.workflow.start('receiver', { workflowId, taskQueue: `none-${workflowId}` });
  const told = () => signalsTo<OrderChange>(handle);
  return {
    receiver: { workflowId, signal: 'rideChanged' },
    told,
    /** Status and outcome of each change that it was told. */
    course: async () => (await told()).map(({ status, outcome }) => [status, outcome]),
    end: () => handle.terminate(),
  };
}
