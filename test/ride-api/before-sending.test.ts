import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { effectOf, QuoteTooOld } from '../../src/ride-api/errors.js';
import { createHttp } from '../../src/ride-api/http.js';

it('a request that may not be sent any more leaves no byte, also after a wait for a connection', async () => {
  const got: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      got.push(String(bytes).split('\r\n', 1)[0] ?? '');
      void pause(300).then(() => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const http = createHttp({ connections: 1 });
  onTestFinished(async () => {
    await http.close();
    server.close();
  });
  let isOld = false;
  const request = (path: string) => ({
    ...{ method: 'POST' as const, url: `http://127.0.0.1:${port}${path}`, headers: {}, body: '{}' },
    beforeSending: () => {
      if (isOld) throw new QuoteTooOld();
    },
  });
  const first = http.send(request('/first'));
  const second = http.send(request('/second')); // waits for the only connection
  await pause(100);
  isOld = true;
  const error = await second.catch((thrown: unknown) => thrown);
  expect(await first).toMatchObject({ status: 204 });
  expect(error).toBeInstanceOf(QuoteTooOld);
  expect(effectOf(error, true)).toBe('no');
  isOld = false;
  expect(await http.send(request('/third'))).toMatchObject({ status: 204 });
  expect(got).toEqual(['POST /first HTTP/1.1', 'POST /third HTTP/1.1']);
});
