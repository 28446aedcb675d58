import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A connection through which one process reaches Temporal, and which can fall silent without being closed. */
export interface Wire {
  /** `host:port` */
  address: string;
  cut(): void;
  mend(): void;
  close(): void;
}

/** Leads to `target`, a `host:port`. While it is cut, nothing passes and nothing is refused, as in a partition of the network. */
export async function startWire(target: string): Promise<Wire> {
  const [host = '', port] = target.split(':');
  const open = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket, other: Socket): void => {
    open.add(socket);
    if (isCut) socket.pause();
    socket.on('data', (bytes) => other.write(bytes));
    socket.on('error', () => undefined);
    socket.once('close', () => {
      open.delete(socket);
      other.destroy();
    });
    if (isCut) socket.pause();
  };
  const server = createServer((near) => {
    const far = connect({ host, port: Number(port), noDelay: true });
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
