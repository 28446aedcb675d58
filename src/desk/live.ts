import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { leftMs, monotonicMs } from '../clock.js';
import type { Viewer } from './access.js';
import type { Changed, Reads } from './reads.js';

const pollEveryMs = 1_000;
const lookAtRunsEveryMs = 10_000;
/** Proxies close a connection on which nothing comes. */
const signOfLifeMs = 15_000;
/** Bytes that a browser leaves unread before it is cut off. */
const mostUnread = 65_536;

/** Looks at the store once a second for all viewers together, and not at all while none listens; tells each what has changed, by ids alone. */
export function createLive(
  { latest, changedSince }: Pick<Reads, 'latest' | 'changedSince'>,
  /** A text that changes with what Temporal knows of what needs somebody. */
  lookAtRuns: () => Promise<string>,
) {
  const listeners = new Map<ServerResponse, Viewer['id']>();
  const stopped = new AbortController();
  let isLooking = false;
  let latestTold = '';

  const tell = (text: string): void => {
    for (const response of listeners.keys()) {
      if (response.writableLength > mostUnread) response.destroy();
      else response.write(text);
    }
  };
  const tellTopics = (topics: readonly string[]): void => {
    if (topics.length === 0) return;
    latestTold = `data: ${JSON.stringify(topics)}\n\n`;
    tell(latestTold);
  };

  async function look(): Promise<void> {
    let upTo: Changed['upTo'] | undefined;
    let runs: string | undefined;
    let lookAt = Number.NEGATIVE_INFINITY;
    let signAt = monotonicMs() + signOfLifeMs;
    while (listeners.size > 0 && !stopped.signal.aborted) {
      try {
        const changed: Changed = upTo ? await changedSince(upTo) : { upTo: await latest(), topics: ['all'] };
        upTo = changed.upTo;
        tellTopics(changed.topics);
      } catch {
        upTo = undefined; // the store is away; once it is back, all look again
      }
      if (monotonicMs() >= lookAt) {
        lookAt = monotonicMs() + lookAtRunsEveryMs;
        const now = await lookAtRuns().catch(() => 'no answer');
        if (runs !== undefined && now !== runs) tellTopics(['needs']);
        runs = now;
      }
      if (monotonicMs() >= signAt) {
        signAt = monotonicMs() + signOfLifeMs;
        tell(': still here\n\n');
      }
      await sleep(pollEveryMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
    isLooking = false;
  }

  return {
    /** Tells this browser of changes until it goes, or until its session ends. */
    listen(response: ServerResponse, { id, until }: Pick<Viewer, 'id' | 'until'>): void {
      response.write(`retry: 3000\n\n${latestTold}`); // may have come after the page was made
      listeners.set(response, id);
      const leave = () => listeners.delete(response);
      const end = setTimeout(() => leave() && response.end(), leftMs(until));
      response.on('error', leave).on('close', () => leave() && clearTimeout(end));
      if (!isLooking) {
        isLooking = true;
        void look();
      }
    },
    /** Ends what a session listens to, and has its pages say so. */
    end(id: Viewer['id']): void {
      for (const [response, one] of listeners) if (one === id) response.end('event: signedOut\ndata:\n\n');
    },
    close(): void {
      stopped.abort();
      for (const response of listeners.keys()) response.destroy();
    },
  };
}

/** Tells viewers what has changed. */
export type Live = ReturnType<typeof createLive>;
