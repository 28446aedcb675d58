import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { aStand, type IngressStand } from './ingress-stand.js';
import { openRaw, type RawSender } from './raw-sender.js';

const start = (deadlines = { headersMs: 800, requestMs: 1_600, idleMs: 1_200, stopMs: 500 }) => aStand({ deadlines });

async function open(stand: IngressStand): Promise<RawSender> {
  const sender = await openRaw(stand.url);
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

describe('a slow sender', () => {
  it('is cut off when its headers do not end in time', async () => {
    const stand = await start();
    const { socket, ended } = await open(stand);
    const drip = setInterval(() => socket.write('X-A: b\r\n'), 50);
    socket.write(requestLine(stand));
    expect(await ended).toMatch(/^HTTP\/1.1 408 /);
    clearInterval(drip);
    expect(stand.facts).toEqual([]);
  });

  it('that does not end its body in time, or goes away within it, leaves nothing behind', async () => {
    const stand = await start();
    const { socket, ended } = await open(stand);
    socket.write(`${requestLine(stand)}Content-Length: 1000\r\n\r\n`);
    const drip = setInterval(() => socket.write('{'), 50);
    await ended;
    clearInterval(drip);
    await expect.poll(() => stand.facts).toMatchObject([{ outcome: 'aborted' }]);

    const sender = await open(stand);
    await begin(stand, sender, 1_000);
    sender.socket.write('{"order_id":"1"');
    sender.socket.destroy();
    await expect.poll(() => stand.facts).toMatchObject([{ outcome: 'aborted' }, { outcome: 'aborted' }]);
    expect([stand.store.deliveries, stand.failures]).toEqual([[], []]);
  });

  it.each([
    ['does not end its headers', (stand: IngressStand) => requestLine(stand), '408'],
    ['sends what is no request', () => 'nonsense\r\n\r\n', '400'],
  ])('that %s cannot keep the connection by leaving its own side open', async (_, text, status) => {
    const stand = await start();
    const { hostname, port } = new URL(stand.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
    socket.on('error', () => {}); // a reset is the way in which the other side lets go
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(text(stand));
    await once(socket, 'end');
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    // What is written to a connection that the other side has let go of is answered with a reset.
    const drip = setInterval(() => socket.write('x'), 50);
    await closed;
    clearInterval(drip);
  });

  it('that says nothing loses its connection', async () => {
    const stand = await start();
    const silent = await open(stand);
    const idle = await open(stand);
    idle.socket.write(`${requestLine(stand)}Content-Length: ${delivery.length}\r\n\r\n${delivery}`);
    await expect.poll(idle.received).toContain(' 202 ');
    await Promise.all([silent.ended, idle.ended]);
  });
});

describe('1,000 connections that say nothing or almost nothing', () => {
  it('leave other senders unaffected', async () => {
    const stand = await start({ headersMs: 10_000, requestMs: 15_000, idleMs: 65_000, stopMs: 200 });
    const opened = await Promise.all(Array.from({ length: 1_000 }, () => open(stand)));
    for (const { socket } of opened.slice(0, 500)) socket.write(`${requestLine(stand)}X-Slow: `);
    for (const { socket } of opened.slice(500, 600)) socket.write(`${requestLine(stand)}Content-Length: 999\r\n\r\n{`);
    await sleep(200);
    const times: number[] = [];
    for (let count = 0; count < 200; count += 1) {
      const since = performance.now();
      expect((await stand.post(delivery)).status).toBe(202);
      times.push(performance.now() - since);
    }
    times.sort((a, b) => a - b);
    expect(times[100]).toBeLessThan(250); // usually 1: a bound for busy machines
    expect(opened.filter((one) => one.isClosed())).toEqual([]);
  });
});

describe('a stop', () => {
  it('ends the request under way, then the server', async () => {
    const stand = await start({ headersMs: 60_000, requestMs: 60_000, idleMs: 60_000, stopMs: 60_000 });
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
    const since = performance.now();
    expect(await sender.ended).toMatch(/\r\nHTTP\/1.1 202 /);
    await closed;
    expect(performance.now() - since).toBeLessThan(20_000); // not the idle time of its connection
    expect(stand.store.deliveries).toHaveLength(1);
  });

  it('does not wait for ever for a sender that does not end', async () => {
    const stand = await start();
    await begin(stand, await open(stand), 1_000);
    const since = performance.now();
    await stand.close();
    expect(performance.now() - since).toBeLessThan(20_000); // far below what a connection may stay idle
  });
});
