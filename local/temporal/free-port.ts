import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/**
 * A free port on 127.0.0.1, for a program that cannot take port 0. One connection is made to it and closed from the
 * listening side: the port then rests in TIME_WAIT, so that the system does not give it to a process that asks for any port, while a
 * program that names it may have it. The Temporal server picks its inner ports in the same way.
 */
export async function freePort(): Promise<number> {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const probe = connect(port, '127.0.0.1').resume();
  await once(probe, 'close');
  server.close();
  await once(server, 'close');
  return port;
}
