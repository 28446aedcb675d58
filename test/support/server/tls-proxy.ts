import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  connect,
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { CertificateFiles } from './certificates.js';

/** gRPC over TLS in front of a server that speaks it in clear. */
export interface TlsProxy {
  address: string;
  /** The headers of each call that came through. */
  calls: IncomingHttpHeaders[];
  close(): Promise<void>;
}

interface TlsProxyOptions {
  server: CertificateFiles;
  /** Only callers with a certificate of this authority get in. Default: everybody does. */
  clientCa?: string;
}

/** Ends TLS as a load balancer or Temporal Cloud does, and passes calls on to `target` (`host:port`). */
export async function startTlsProxy(target: string, { server, clientCa }: TlsProxyOptions): Promise<TlsProxy> {
  const calls: IncomingHttpHeaders[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const upstream = connect(`http://${target}`);
  const mutual = clientCa === undefined ? {} : { ca: readFileSync(clientCa), requestCert: true };
  const proxy = createSecureServer({ cert: readFileSync(server.cert), key: readFileSync(server.key), ...mutual });
  proxy.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {}); // a caller that goes away
    session.on('close', () => sessions.delete(session));
  });
  proxy.on('stream', (stream, headers) => {
    calls.push(headers);
    passOn(stream, upstream.request({ ...headers, ':scheme': 'http', ':authority': target }));
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    address: `127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    calls,
    async close() {
      for (const session of sessions) session.destroy();
      proxy.close();
      upstream.destroy();
    },
  };
}

/** The status of a gRPC call stands in the trailers, or in the headers when there is nothing else. */
function passOn(stream: ServerHttp2Stream, call: ReturnType<ReturnType<typeof connect>['request']>): void {
  let trailers: IncomingHttpHeaders = {};
  stream.pipe(call);
  call.on('response', (headers) => {
    if (stream.closed || stream.destroyed) return;
    stream.respond(headers, { waitForTrailers: true });
    call.pipe(stream);
  });
  call.on('trailers', (received) => {
    trailers = received;
  });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('error', () => call.close());
  stream.on('close', () => call.close());
  call.on('error', () => stream.close());
}
