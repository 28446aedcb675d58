import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { CertificateFiles } from '../support/server/certificates.js';

/** An answer that the server behind the front has given, and the connections over which it is to go. */
interface Passing {
  status: number;
  text: string;
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
  'half a body': ({ response, status, text, client }: Passing) => {
    const body = Buffer.from(text);
    response.writeHead(status, { ...json, 'content-length': body.length });
    response.write(body.subarray(0, body.length / 2), () => setTimeout(() => client.end(), 50));
  },
  'a page with 200': ({ response }: Passing) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Welcome</html>'),
  'JSON of 5,000 levels': ({ response }: Passing) => void response.writeHead(200, json).end(deepJson),
} as const satisfies Record<string, (answer: Passing) => void>;
export type BrokenAnswer = keyof typeof brokenAnswers;

/** A server of TLS before another server, whose answers it loses in this way. */
export async function startBreakingFront(target: string, certificate: CertificateFiles, broken: BrokenAnswer) {
  const connections = new Map<number | undefined, Pick<Passing, 'client' | 'inner'>>();
  const tls = { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) };
  const server = createTlsServer(tls, (request, response) => {
    void pass(request, response).catch(() => response.destroy());
  });
  server.on('clientError', (_error, socket) => socket.destroy()); // after the alert; Node would answer 400
  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, text } = await forward(target, request);
    const pair = connections.get(request.socket.remotePort);
    if (pair) brokenAnswers[broken]({ status, text, response, ...pair });
  }
  const tlsPort = await listen(server);
  // A relay, since a program cannot reset a connection beneath TLS, or put anything into it.
  const relay = createServer((client) => {
    const inner = connect(tlsPort, '127.0.0.1', () => connections.set(inner.localPort, { client, inner }));
    for (const socket of [client, inner]) socket.on('error', () => undefined);
    client.on('close', () => inner.destroy());
    inner.on('close', () => client.destroy());
    client.pipe(inner).pipe(client);
  });
  const url = `https://127.0.0.1:${await listen(relay)}`;
  return {
    url,
    close(): void {
      for (const { client } of connections.values()) client.destroy();
      server.close();
      relay.close();
    },
  };
}

async function forward(target: string, request: IncomingMessage): Promise<Pick<Passing, 'status' | 'text'>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const answer = await fetch(target, { method: 'POST', body: Buffer.concat(chunks) });
  return { status: answer.status, text: await answer.text() };
}

async function listen(server: TlsServer | Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
