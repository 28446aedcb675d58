import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** What the proxy does when it is asked for a tunnel: opens it, answers with this status, says nothing, or hangs up. */
export type Manner = 'opens' | number | 'hangs' | 'hangs up';

/** Who may use the proxy. Both need escapes in a URL. */
export const proxyUser = { name: 'me@acme', password: 'p:w/d%-5c1e7b' };

export interface ProxyOptions {
  manner?: Manner;
  /** The port of this machine that stands for every host. */
  port?: number;
  wantsPassword?: boolean;
  tls?: { cert: Buffer; key: Buffer };
}

/** An HTTP proxy that opens tunnels (RFC 9110 section 9.3.6). */
export type ConnectProxy = Awaited<ReturnType<typeof startConnectProxy>>;

export async function startConnectProxy({ manner = 'opens', port = 0, wantsPassword = false, tls }: ProxyOptions) {
  const right = `Basic ${Buffer.from(`${proxyUser.name}:${proxyUser.password}`).toString('base64')}`;
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const refuseAll: RequestListener = (_, response) => void response.writeHead(400).end();
  const server: Server = tls ? createTlsServer(tls, refuseAll) : createServer(refuseAll);
  server.on('connection', keep);
  server.on('connect', ({ url = '', headers }, client) => {
    asked.push(url);
    client.on('error', () => {});
    const isRefused = wantsPassword && headers['proxy-authorization'] !== right;
    const does = isRefused ? 407 : manner;
    if (does === 'hangs') return;
    if (does === 'hangs up') return void client.destroy();
    if (does !== 'opens') return void client.end(`HTTP/1.1 ${does} No\r\nContent-Length: 6\r\n\r\n<html>`);
    const onward = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(onward).pipe(client);
    });
    keep(onward);
    client.on('close', () => onward.destroy());
    onward.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const scheme = tls ? 'https' : 'http';
  const user = `${encodeURIComponent(proxyUser.name)}:${encodeURIComponent(proxyUser.password)}`;
  return {
    origin: `${scheme}://${host}`,
    /** With user and password, as in `HTTPS_PROXY`. */
    url: `${scheme}://${user}@${host}`,
    /** Each tunnel that was wanted, as `host:port`. */
    asked,
    /** Resets all connections. */
    cut(): void {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    close(): void {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
