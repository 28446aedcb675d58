import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { CertificateFiles } from '../server/certificates.js';

/** A proxy as it stands before a codec endpoint that serves many people. */
export interface PersonProxy {
  url: string;
  /** What was asked of it: method, path and the names of credentials that were shown. */
  calls: { method: string; path: string; shown: string[] }[];
  close(): Promise<void>;
}

interface PersonProxyOptions {
  /** Default: it speaks without TLS. */
  server?: CertificateFiles;
  /** Shows the endpoint that a call comes from us. */
  token: string;
  isKnown(call: IncomingMessage): boolean;
}

/** Ends TLS where it has a certificate, knows people, and passes on what they ask with the token of the endpoint in place of theirs. */
export async function startPersonProxy(target: string, options: PersonProxyOptions): Promise<PersonProxy> {
  const { server, token, isKnown } = options;
  const calls: PersonProxy['calls'] = [];
  const pass: RequestListener = (call, reply) => {
    const { method = '', url: path = '', headers } = call;
    calls.push({
      method,
      path,
      shown: ['authorization', 'authorization-extras', 'cookie'].filter((name) => headers[name]),
    });
    const authorization = isKnown(call) ? { authorization: `Bearer ${token}` } : {};
    const onward = request(`${target}${path}`, { method, headers: { ...headers, ...authorization } }, (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(reply);
    });
    onward.on('error', () => reply.destroy());
    call.pipe(onward);
  };
  const proxy = server
    ? createTlsServer({ cert: readFileSync(server.cert), key: readFileSync(server.key) }, pass)
    : createServer(pass);
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    url: `${server ? 'https' : 'http'}://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    calls,
    async close() {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}
