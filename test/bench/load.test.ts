import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openLanes } from '../../bench/http-lanes.js';
import { openLoad } from '../../bench/open-load.js';

it('a load counts each latency from the moment at which the request was due, and requests by status', async () => {
  const { latencies, statuses } = await openLoad({ perSecond: 100, seconds: 0.2 }, async (index) => {
    await sleep(20);
    return index % 2 === 0 ? 202 : 503;
  });
  expect(Object.fromEntries(statuses)).toEqual({ 202: 10, 503: 10 });
  expect(latencies).toHaveLength(20);
  expect(latencies[0]).toBeGreaterThan(15);
});

// The caller must get to its own cleaning up: processes would stay behind.
it('a load ends with the first error once every request that was under way has ended', async () => {
  let under = 0;
  const load = openLoad({ perSecond: 200, seconds: 60 }, async (index) => {
    under += 1;
    await sleep(30);
    under -= 1;
    if (index >= 3) throw new Error(`request ${index}`);
    return 202;
  });
  await expect(load).rejects.toThrow('request 3');
  expect(under).toBe(0);
});

it('a lane whose idle connection was closed opens another one for the next request', async () => {
  const request = 'GET / HTTP/1.1\r\nhost: here\r\n\r\n';
  const connections: Socket[] = [];
  const server = createServer((_request, response) => response.writeHead(202, { 'content-length': 0 }).end());
  server.on('connection', (connection) => connections.push(connection));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const lanes = await openLanes((server.address() as AddressInfo).port, 1);
  onTestFinished(() => lanes.close());

  expect(await lanes.send(request)).toBe(202);
  const [first = expect.fail('no connection')] = connections;
  await once(first.end(), 'close'); // once the other side has closed, too
  expect(await lanes.send(request)).toBe(202);
  expect(connections).toHaveLength(2);
});
