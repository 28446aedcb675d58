import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { Agent } from 'undici';
import type { DeliveryMessage } from './writer.js';

/** The result of one POST. */
export interface DeliveryOutcome {
  /** HTTP status; null: no whole answer came in time. */
  answer: number | null;
  /** The code of the failure if no answer came. */
  failure?: string;
  /** The `deliveryId` in the answer. */
  acknowledgedAs?: string;
  ms: number;
}

export type DeliverySender = ReturnType<typeof createDeliverySender>;

const chunkBytes = 65_536;

/** POSTs deliveries over kept-alive connections, one for each delivery in flight. */
export function createDeliverySender() {
  const agent = new Agent({ connections: null, keepAliveTimeout: 10_000, headersTimeout: 0, bodyTimeout: 0 });
  return {
    /** Never throws. */
    async post({ url, headers, body, isChunked }: DeliveryMessage, timeoutMs: number): Promise<DeliveryOutcome> {
      const { origin, pathname, search } = new URL(url);
      const since = performance.now();
      const ms = () => Math.round((performance.now() - since) * 1_000) / 1_000;
      try {
        const answer = await agent.request({
          origin,
          path: pathname + search,
          method: 'POST',
          headers,
          body: isChunked ? Readable.from(chunksOf(body), { objectMode: false }) : body,
          signal: AbortSignal.timeout(timeoutMs),
        });
        const id = idIn(await answer.body.text());
        return { answer: answer.statusCode, ...(id !== undefined && { acknowledgedAs: id }), ms: ms() };
      } catch (error) {
        return { answer: null, failure: failureCode(error), ms: ms() };
      }
    },
    close: (): Promise<void> => agent.destroy(),
  };
}

function* chunksOf(body: Buffer): Generator<Buffer> {
  for (let from = 0; from < body.length; from += chunkBytes) yield body.subarray(from, from + chunkBytes);
}

function idIn(text: string): string | undefined {
  const [, id] = /"deliveryId":\s*"([0-9a-f]{1,64})"/.exec(text) ?? [];
  return id;
}

/** Never the message, which may name the address. */
function failureCode(error: unknown): string {
  if (!(error instanceof Error)) return 'UNKNOWN';
  if (error.name === 'TimeoutError') return 'TIMEOUT';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
