import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { CertificateFiles } from '../support/server/certificates.js';
import { textOf } from './loopback-server.js';

/** An answer that is to be lost, and the connections over which it would go. */
interface Passing {
  response: ServerResponse;
  /** Of the client, beneath TLS. */
  client: Socket;
  /** To the end of TLS. */
  inner: Socket;
}

/** A record of application data (RFC 8446 section 5.1). */
const undecipherable = Buffer.concat([Buffer.from([23, 3, 3, 0, 64]), Buffer.alloc(64)]);
const json = { 'content-type': 'application/json' };
const deepJson = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;

/** What a client gets to see of an answer, by the name of the fault. The request was carried out each time. */
export const brokenAnswers = {
  'the end of the connection': ({ client }: Passing) => void client.end(),
  'a reset': ({ client }: Passing) => void client.resetAndDestroy(),
  // The end of TLS cannot decrypt it, and says so by a fatal alert.
  'a TLS alert': ({ inner }: Passing) => void inner.write(undecipherable),
  'half a body': ({ response, client }: Passing) => {
    response.writeHead(201, { ...json, 'content-length': 16 });
    response.write('{"id":"o', () => setTimeout(() => client.end(), 50));
  },
  'a page with 200': ({ response }: Passing) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>'),
  'JSON of 5,000 levels': ({ response }: Passing) => void response.writeHead(200, json).end(deepJson),
} as const satisfies Record<string, (answer: Passing) => void>;
export type BrokenAnswer = keyof typeof brokenAnswers;

/** A service over TLS that carries each call out, and loses its answer in this way. `taken`: the bodies of the calls. */
export async function startBreakingService(certificate: CertificateFiles, broken: BrokenAnswer) {
  const connections = new Map<number | undefined, Pick<Passing, 'client' | 'inner'>>();
  const taken: string[] = [];
  const tls = { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) };
  const server = createTlsServer(tls, async (request, response) => {
    taken.push(await textOf(request));
    const pair = connections.get(request.socket.remotePort);
    if (pair) brokenAnswers[broken]({ response, ...pair });
  });
  server.on('clientError', (_error, socket) => socket.destroy()); // after the alert; Node would answer 400
  const tlsPort = await listen(server);
  // A relay, since a program cannot reset a connection beneath TLS, or put anything into it.
  const relay = createServer((client) => {
    const inner = connect(tlsPort, '127.0.0.1', () => connections.set(inner.localPort, { client, inner }));
    for (const socket of [client, inner]) socket.on('error', () => undefined);
    client.on('close', () => inner.destroy());
    inner.on('close', () => client.destroy());
    client.pipe(inner).pipe(client);
  });
  onTestFinished(() => {
    for (const { client } of connections.values()) client.destroy();
    server.close();
    relay.close();
  });
  return { url: `https://127.0.0.1:${await listen(relay)}`, taken };
}

async function listen(server: TlsServer | Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
