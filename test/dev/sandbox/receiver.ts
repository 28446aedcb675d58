import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toJson } from './calls.js';

/** One POST that reached the receiver, read to its end. */
interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  json: Record<string, unknown> | undefined;
}

/** A small receiving endpoint. */
export interface Receiver {
  url: string;
  received: Received[];
  /** What it answers. */
  answer: () => { status: number; type?: string; body?: string };
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces);
      const json = toJson(body.toString()) as Record<string, unknown> | undefined;
      receiver.received.push({ path: request.url ?? '', headers: request.headers, body, json });
      const { status, type = 'text/plain', body: text = '' } = receiver.answer();
      response.writeHead(status, { 'content-type': type }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: [],
    answer: () => ({ status: 202 }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
