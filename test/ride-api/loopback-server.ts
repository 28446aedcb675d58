import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { onTestFinished } from 'vitest';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { createHttp, type Http, type HttpLimits } from '../../src/ride-api/http.js';
import { createRideApi, type RideApi, type RideApiOptions } from '../../src/ride-api/ride-api.js';

async function listen(server: Server | TcpServer): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An HTTP server for one test, over TLS with a certificate; the result is its base URL. It ends with the test. */
export async function serve(listener: RequestListener, tls?: { cert: Buffer; key: Buffer }): Promise<string> {
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `${tls ? 'https' : 'http'}://${await listen(server)}`;
}

/** A server of raw bytes for one test; the result is host and port. */
export async function serveBytes(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}); // the client hangs up in these tests
    onSocket(socket);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listen(server);
}

export function answerJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** The body of a request as text. */
export async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Resolves once the client has closed the connection, with a reset or without (which `once` would reject on). */
export const hangUp = (request: IncomingMessage): Promise<void> =>
  new Promise((resolve) => request.socket.once('close', () => resolve()));

/** An HTTP client for one test. */
export function httpClient(limits: Partial<HttpLimits> = {}): Http {
  const http = createHttp(limits);
  onTestFinished(() => void http.close());
  return http;
}

/** A client of the service for one test, with these changes of the contract profile. */
export const rideApi = (
  profile: object = {},
  { http = httpClient(), ...options }: Partial<Omit<RideApiOptions, 'profile'>> = {},
): RideApi => createRideApi({ profile: parseContractProfile(profile), http, ...options });
