import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { type IngressStand, startIngressStand } from './ingress-stand.js';
import { openRaw, type RawSender } from './raw-sender.js';

const stands: IngressStand[] = [];
const senders: RawSender[] = [];
afterEach(async () => {
  for (const { socket } of senders.splice(0)) socket.destroy();
  for (const stand of stands.splice(0)) await stand.close();
});

async function start(deadlines = { headersMs: 300, requestMs: 600, idleMs: 400, stopMs: 500 }): Promise<IngressStand> {
  const stand = await startIngressStand({ deadlines });
  stands.push(stand);
  return stand;
}

async function open(stand: IngressStand): Promise<RawSender> {
  const sender = await openRaw(stand.url);
  senders.push(sender);
  return sender;
}

const requestLine = (stand: IngressStand) => `POST ${new URL(stand.addressOf()).pathname} HTTP/1.1\r\nHost: x\r\n`;
const delivery = '{"order_id":"1"}';

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

  it('is cut off when its body does not end in time, and nothing is stored', async () => {
    const stand = await start();
    const { socket, ended } = await open(stand);
    socket.write(`${requestLine(stand)}Content-Length: 1000\r\n\r\n`);
    const drip = setInterval(() => socket.write('{'), 50);
    await ended;
    clearInterval(drip);
    await expect.poll(() => stand.facts).toMatchObject([{ outcome: 'aborted' }]);
    expect(stand.store.deliveries).toEqual([]);
    expect(stand.failures).toEqual([]);
  });

  it('that goes away in the middle of a body leaves nothing behind', async () => {
    const stand = await start();
    const { socket } = await open(stand);
    socket.write(`${requestLine(stand)}Content-Length: 1000\r\n\r\n{"order_id":"1"`);
    await sleep(50);
    socket.destroy();
    await expect.poll(() => stand.facts).toMatchObject([{ outcome: 'aborted' }]);
    expect(stand.failures).toEqual([]);
  });

  it('loses a connection on which it says nothing', async () => {
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
    expect(times[100]).toBeLessThan(50); // usually 1: a bound for busy machines
    expect(opened.filter((one) => one.isClosed())).toEqual([]);
  });
});

describe('a stop', () => {
  it('ends the request under way, then the server', async () => {
    const stand = await start({ headersMs: 5_000, requestMs: 5_000, idleMs: 5_000, stopMs: 5_000 });
    const { socket, ended } = await open(stand);
    socket.write(`${requestLine(stand)}Content-Length: ${delivery.length}\r\n\r\n`);
    await sleep(50);
    const closed = stand.close();
    await sleep(50);
    await expect(stand.post(delivery)).rejects.toThrow();
    socket.write(delivery);
    const since = performance.now();
    expect(await ended).toMatch(/^HTTP\/1.1 202 /);
    await closed;
    expect(performance.now() - since).toBeLessThan(2_000); // not the idle time of its connection
    expect(stand.store.deliveries).toHaveLength(1);
    stands.pop();
  });

  it('does not wait for ever for a sender that does not end', async () => {
    const stand = await start();
    const { socket } = await open(stand);
    socket.write(`${requestLine(stand)}Content-Length: 1000\r\n\r\n{`);
    await sleep(50);
    const since = performance.now();
    await stand.close();
    expect(performance.now() - since).toBeLessThan(5_000);
    stands.pop();
  });
});
