import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

/** One address for several servers. */
interface Balancer {
  /** `host:port` */
  address: string;
  close(): void;
}

const ip = '127.0.0.1';

/**
 * Gives each new connection to the next server that accepts it, as a load balancer of TCP connections does. A connection stays
 * with its server, also while that does not answer: the clients find out.
 */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer(async (client) => {
    open.add(client);
    client.once('close', () => open.delete(client));
    client.on('error', () => undefined); // the pipeline ends both sides
    turn += 1;
    const chosen = await firstThatAccepts(ports.map((_, i) => ports[(turn + i) % ports.length] ?? 0));
    if (chosen === undefined || client.destroyed) {
      chosen?.destroy();
      client.destroy();
      return;
    }
    pipeline(client, chosen, client, () => undefined);
  }).listen(0, ip);
  await once(server, 'listening');
  return {
    address: `${ip}:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

async function firstThatAccepts(ports: readonly number[]): Promise<Socket | undefined> {
  for (const port of ports) {
    const socket = connect({ port, host: ip, noDelay: true });
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false);
    if (isOpen) return socket;
    socket.destroy();
  }
  return undefined;
}
