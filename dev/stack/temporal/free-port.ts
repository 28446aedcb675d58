import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';

/**
 * Finds a free port on 127.0.0.1 for a program that cannot take port 0. It opens one connection and closes it from the listening
 * side, which leaves the port in TIME_WAIT. The system then gives the port only to a process that names it. The Temporal server
 * picks its inner ports in the same way.
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

/** Finds several, one after the other, since parallel searches may find the same port. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

/** Can a server listen there? */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const isOpen = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return isOpen;
}

/** The usual port, or any free port if the usual one is taken. */
export const usualOrFreePort = async (usual: number): Promise<number> =>
  (await isFree(usual)) ? usual : await freePort();
