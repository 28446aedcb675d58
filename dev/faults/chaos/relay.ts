import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** An address that leads to one server or several, and that can fall silent without being closed. */
export interface Relay {
  /** `host:port` */
  address: string;
  /** Nothing passes and nothing is refused, as in a partition of the network. */
  cut(): void;
  mend(): void;
  close(): void;
}

/**
 * Gives each new connection to the next of the targets, all `host:port`, that accepts it, as a load balancer of TCP connections does. A
 * connection stays with its server, also while that does not answer: the clients find out.
 */
export async function startRelay(targets: readonly string[]): Promise<Relay> {
  const open = new Set<Socket>();
  let isCut = false;
  let turn = 0;
  const keep = (socket: Socket, other: Socket): void => {
    open.add(socket);
    socket.on('data', (bytes) => other.write(bytes));
    if (isCut) socket.pause();
    socket.once('close', () => {
      open.delete(socket);
      other.destroy();
    });
    if (socket.destroyed) other.destroy();
  };
  const server = createServer(async (near) => {
    near.on('error', () => undefined); // `close` follows
    turn += 1;
    const far = await firstThatAccepts(targets.map((_, i) => targets[(turn + i) % targets.length] ?? ''));
    if (far === undefined) return void near.destroy();
    far.on('error', () => undefined);
    keep(near, far);
    keep(far, near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      for (const socket of open) socket.pause();
    },
    mend() {
      isCut = false;
      for (const socket of open) socket.resume();
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

async function firstThatAccepts(targets: readonly string[]): Promise<Socket | undefined> {
  for (const target of targets) {
    const [host = '', port] = target.split(':');
    const socket = connect({ port: Number(port), host, noDelay: true });
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false);
    if (isOpen) return socket;
    socket.destroy();
  }
  return undefined;
}
