import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** Who may use the proxy. Both need escapes in a URL. */
export const proxyUser = { name: 'me@acme', password: 'p:w/d%-5c1e7b' };

export interface ProxyOptions {
  /** When it is asked for a tunnel: it opens it, answers with this status, says nothing, or hangs up. */
  manner?: 'opens' | number | 'hangs' | 'hangs up';
  /** The port of this machine that stands for every host. */
  port?: number;
  /** How many tunnels it opens; asked for another one it says nothing. */
  tunnels?: number;
  wantsPassword?: boolean;
  tls?: { cert: Buffer; key: Buffer };
}

/** An HTTP proxy that opens tunnels (RFC 9110 section 9.3.6). */
export type ConnectProxy = Awaited<ReturnType<typeof startConnectProxy>>;

export async function startConnectProxy({
  manner = 'opens',
  port = 0,
  tunnels = Number.POSITIVE_INFINITY,
  wantsPassword = false,
  tls,
}: ProxyOptions) {
  const right = `Basic ${Buffer.from(`${proxyUser.name}:${proxyUser.password}`).toString('base64')}`;
  /** Each tunnel that was wanted, as `host:port`. */
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server = tls ? createTlsServer(tls) : createServer();
  server.on('connection', (socket: Socket) => void sockets.add(socket));
  server.on('connect', ({ url = '', headers }, client) => {
    asked.push(url);
    client.on('error', () => {});
    const does = wantsPassword && headers['proxy-authorization'] !== right ? 407 : manner;
    if (does === 'hangs' || asked.length > tunnels) return;
    if (does === 'hangs up') return void client.destroy();
    if (does !== 'opens') return void client.end(`HTTP/1.1 ${does} No\r\nContent-Length: 6\r\n\r\n<html>`);
    const onward = connect(port, '127.0.0.1', () => void client.write('HTTP/1.1 200 Connection established\r\n\r\n'));
    client.pipe(onward).pipe(client);
    client.on('close', () => onward.destroy());
    onward.on('error', () => {}).on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [name, password] = [proxyUser.name, proxyUser.password].map(encodeURIComponent);
  const cut = (): void => sockets.forEach((socket) => void socket.resetAndDestroy());
  const close = (): void => {
    cut();
    server.close();
  };
  /** `url` holds user and password; `cut` resets all connections. */
  return { origin, url: origin.replace('://', `://${name}:${password}@`), asked, cut, close };
}
