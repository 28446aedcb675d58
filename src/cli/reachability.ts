import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';

const withinMs = 5_000;

/** Opens a TCP or, for https, a TLS connection and closes it again. Gives the system's code of what went wrong. */
export function findObstacle(url: string): Promise<string | null> {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const isTls = protocol === 'https:';
  const at = { host, port: Number(port) || (isTls ? 443 : 80) };
  return new Promise((resolve) => {
    const finish = (obstacle: string | null): void => {
      socket.destroy();
      resolve(obstacle);
    };
    const open = (): void => finish(null);
    const socket = isTls
      ? connectTls({ ...at, ...(isIP(host) === 0 ? { servername: host } : {}) }, open)
      : connectTcp(at, open);
    socket.setTimeout(withinMs, () => finish('no answer'));
    socket.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
  });
}
