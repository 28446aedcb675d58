import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { ApplicationFailure } from '@temporalio/common';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createNotifyActivities } from '../../src/activities/notify.js';
import { createNotifySender } from '../../src/notify-http/sender.js';
import { createAuthority } from '../support/server/certificates.js';

const notices = Array.from({ length: 48 }, (_, at) => `notice-${at}`);
const resetConnections = 120;

/** Resets its first connections 0 to 20 ms after it has accepted them, then answers 204. */
async function startReceiver() {
  const ids = new Set<unknown>();
  let accepted = 0;
  const { cert, key } = createAuthority('receiver').server();
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    ids.add(request.headers['webhook-id']);
    response.writeHead(204).end();
  });
  server.on('connection', (socket: Socket) => {
    accepted += 1;
    if (accepted <= resetConnections) setTimeout(() => socket.resetAndDestroy(), accepted % 21);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { ids, accepted: () => accepted, url: `https://127.0.0.1:${port}` };
}

// In clear: `e2e/notify/urls`.
it('notices over TLS outlive a receiver that resets connections: each is tried again until it arrives', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0'); // no authority has signed the certificate
  onTestFinished(() => void vi.unstubAllEnvs());
  const receiver = await startReceiver();
  const limits = { perOrigin: notices.length, inAll: notices.length };
  const settings = { origins: [receiver.url], secrets: [Buffer.alloc(32)], allowsPrivate: true };
  const sender = createNotifySender({ ...settings, limits });
  onTestFinished(() => sender.close());
  const { notifyUrl } = createNotifyActivities({ send: sender.send, serverTime: async () => Date.now() });

  /** Repeats as Temporal does: whatever is not final. */
  async function tell(id: string, attempts = 20): Promise<void> {
    await notifyUrl({ url: receiver.url, run: id, number: 1, event: {} }).catch((error: unknown) => {
      if (!(error instanceof ApplicationFailure) || error.nonRetryable || attempts === 1) throw error;
      return tell(id, attempts - 1);
    });
  }
  await Promise.all(notices.map((id) => tell(id)));
  expect(receiver.ids.size).toBe(notices.length);
  expect(receiver.accepted()).toBeGreaterThan(notices.length);
});
