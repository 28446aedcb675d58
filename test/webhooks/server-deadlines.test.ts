import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { aStand, type IngressStand } from './ingress-stand.js';
import { openRaw, type RawSender } from './raw-sender.js';

const start = (deadlines = { headersMs: 800, requestMs: 1_600, idleMs: 1_200, stopMs: 500 }) => aStand({ deadlines });

async function open(stand: IngressStand, options = {}): Promise<RawSender> {
  const sender = await openRaw(stand.url, options);
  onTestFinished(() => void sender.socket.destroy());
  return sender;
}

const requestLine = (stand: IngressStand) => `POST ${new URL(stand.addressOf()).pathname} HTTP/1.1\r\nHost: x\r\n`;
const delivery = '{"order_id":"1"}';

/** Sends the head of a request with so long a body, and waits until the server wants to read that. */
async function begin(stand: IngressStand, { socket, received }: RawSender, length: number): Promise<void> {
  socket.write(`${requestLine(stand)}Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`);
  await expect.poll(received).toContain('100 Continue');
}

/** Sends this text again and again until the other side closes; the result is its answer. */
async function dripUntilClosed({ socket, ended }: RawSender, text: string): Promise<string> {
  const drip = setInterval(() => socket.write(text), 50);
  return await ended.finally(() => clearInterval(drip));
}

it('a sender that does not end its body in time, or goes away within it, leaves nothing behind', async () => {
  const stand = await start();
  const slow = await open(stand);
  slow.socket.write(`${requestLine(stand)}Content-Length: 1000\r\n\r\n`);
  await dripUntilClosed(slow, '{');
  await expect.poll(() => stand.facts).toMatchObject([{ outcome: 'aborted' }]);

  const leaving = await open(stand);
  await begin(stand, leaving, 1_000);
  leaving.socket.write('{"order_id":"1"');
  leaving.socket.destroy();
  await expect.poll(() => stand.facts).toMatchObject([{ outcome: 'aborted' }, { outcome: 'aborted' }]);
  expect([stand.store.deliveries, stand.failures]).toEqual([[], []]);
});

it.each([
  ['does not end its headers', requestLine, '408'],
  ['sends what is no request', () => 'nonsense\r\n\r\n', '400'],
])('a sender that %s cannot keep the connection by leaving its own side open', async (_, text, status) => {
  const stand = await start();
  const sender = await open(stand, { allowHalfOpen: true });
  sender.socket.write(text(stand));
  await once(sender.socket, 'end');
  expect(sender.received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  await dripUntilClosed(sender, 'x'); // what is written to a closed connection is answered with a reset
  expect(stand.facts).toEqual([]);
});

it('a sender that says nothing, at first or after a delivery, loses its connection', async () => {
  const stand = await start();
  const silent = await open(stand);
  const idle = await open(stand);
  idle.socket.write(`${requestLine(stand)}Content-Length: ${delivery.length}\r\n\r\n${delivery}`);
  await expect.poll(idle.received).toContain(' 202 ');
  await Promise.all([silent.ended, idle.ended]);
});

it('1,000 connections that say nothing or almost nothing leave other senders unaffected', async () => {
  const stand = await start({ headersMs: 300_000, requestMs: 300_000, idleMs: 300_000, stopMs: 200 });
  const opened = await Promise.all(Array.from({ length: 1_000 }, () => open(stand)));
  for (const { socket } of opened.slice(0, 500)) socket.write(`${requestLine(stand)}X-Slow: `);
  for (const { socket } of opened.slice(500, 600)) socket.write(`${requestLine(stand)}Content-Length: 999\r\n\r\n{`);
  await sleep(200);
  for (let count = 0; count < 200; count += 1) expect((await stand.post(delivery)).status).toBe(202);
  expect(opened.filter(({ socket }) => socket.closed)).toEqual([]);
});

it('a server that is stopped ends the request under way first', async () => {
  const stand = await start({ headersMs: 600_000, requestMs: 600_000, idleMs: 600_000, stopMs: 600_000 });
  const sender = await open(stand);
  await begin(stand, sender, delivery.length);
  const closed = stand.close();
  const tryToConnect = () =>
    openRaw(stand.url).then(
      ({ socket }) => void socket.destroy(),
      () => 'refused',
    );
  await expect.poll(tryToConnect).toBe('refused');
  await expect(stand.post(delivery)).rejects.toThrow();
  sender.socket.write(delivery);
  expect(await sender.ended).toMatch(/\r\nHTTP\/1.1 202 /);
  await closed; // long before its connection has been idle for too long
  expect(stand.store.deliveries).toHaveLength(1);
});

it('a server that is stopped does not wait for ever for a sender that does not end', async () => {
  const stand = await start({ headersMs: 600_000, requestMs: 600_000, idleMs: 600_000, stopMs: 500 });
  await begin(stand, await open(stand), 1_000);
  await stand.close();
});
