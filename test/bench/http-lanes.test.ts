import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { openLanes } from '../../bench/http-lanes.js';

const request = 'GET / HTTP/1.1\r\nhost: here\r\n\r\n';

it('a connection that was closed while it was idle is opened anew for the next request', async () => {
  const connections: Socket[] = [];
  const server = createServer((_request, response) => response.writeHead(202, { 'content-length': 0 }).end());
  server.on('connection', (connection) => connections.push(connection));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const lanes = await openLanes((server.address() as AddressInfo).port, 1);
  onTestFinished(() => lanes.close());

  expect(await lanes.send(request)).toBe(202);
  const [first] = connections;
  if (!first) throw new Error('no connection');
  await once(first.end(), 'close'); // once the other side has closed, too
  expect(await lanes.send(request)).toBe(202);
  expect(connections).toHaveLength(2);
});
