import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';

/** A receiver that behaves as badly as it can, and one beside it that waits for its own notices. */
export interface Receivers {
  hostile: string;
  honest: string;
  /** Order ids of the notices that the honest one has taken, with their status. */
  taken: { orderId: string; status: string | null }[];
  /** How often each bad answer was given. */
  answers: Record<string, number>;
  /** Requests at a place to which only a redirect leads. */
  strays(): number;
  /** Notices at the honest receiver that were not signed for it and yet passed. */
  close(): void;
}

const bomb = gzipSync(Buffer.alloc(50_000_000));

const misdeeds: Record<string, (response: ServerResponse, stray: string) => void> = {
  hangs: () => undefined,
  fails: (response) => void response.writeHead(500).end('x'.repeat(1_000_000)),
  redirects: (response, stray) => void response.writeHead(307, { location: stray }).end(),
  'sends a bomb': (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
  'asks for a year': (response) => void response.writeHead(429, { 'retry-after': '31536000' }).end(),
  'sends for ever': (response) => {
    const timer = setInterval(() => response.write('x'.repeat(1_000)), 100);
    response.on('close', () => clearInterval(timer));
  },
  resets: (response) => void response.socket?.resetAndDestroy(),
  'sends many headers': (response) => {
    for (let n = 0; n < 500; n += 1) response.setHeader(`x-${n}`, 'y'.repeat(100));
    response.writeHead(204).end();
  },
  'wants no more': (response) => void response.writeHead(410).end(),
};

/** Starts both. Each knows only its own secret, which `secretOf` gives by origin. */
export async function openReceivers(seed: number, secretOf: (origin: string) => string): Promise<Receivers> {
  const taken: Receivers['taken'] = [];
  const answers: Record<string, number> = {};
  let strays = 0;
  const kinds = fc.sample(fc.constantFrom(...Object.keys(misdeeds)), { seed, numRuns: 1_000 });
  let next = 0;
  const stray = createServer((_, response) => {
    strays += 1;
    response.end();
  });
  const hostile = createServer((request, response) => {
    request.resume().on('end', () => {
      const kind = kinds[next++ % kinds.length] ?? 'hangs';
      answers[kind] = (answers[kind] ?? 0) + 1;
      misdeeds[kind]?.(response, `http://127.0.0.1:${portOf(stray)}/`);
    });
  });
  const honest = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    try {
      const verifier = new Webhook(secretOf(originOf(honest)));
      const { data } = verifier.verify(Buffer.concat(chunks), request.headers as Record<string, string>) as {
        data: Receivers['taken'][number];
      };
      taken.push(data);
      response.writeHead(204).end();
    } catch {
      response.writeHead(401).end();
    }
  });
  const servers = [stray, hostile, honest];
  for (const server of servers) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  return {
    ...{ hostile: originOf(hostile), honest: originOf(honest), taken, answers, strays: () => strays },
    close() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

const portOf = (server: ReturnType<typeof createServer>): number => (server.address() as AddressInfo).port;
const originOf = (server: ReturnType<typeof createServer>): string => `http://127.0.0.1:${portOf(server)}`;
