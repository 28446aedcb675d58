import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleTracker } from './baseline/worker.js';
import type { BenchPlace } from './cell.js';
import { benchEvents } from './events.js';
import { benchLiveOrders } from './live-orders.js';
import { benchMemory } from './memory.js';
import { type Measure, type Summary, summarize } from './report.js';
import type { TemporalSource } from './temporal-source.js';
import { benchThroughput } from './throughput.js';

export const followParts = ['events', 'throughput', 'memory'] as const;
export type FollowPart = (typeof followParts)[number];

export interface FollowOptions {
  rounds: number;
  orders: number;
  live: number;
  only: readonly FollowPart[];
  temporal: TemporalSource;
  say: (line: string) => void;
}

/** Measures the following of orders: this worker beside the plain tracker of `baseline/`, each on its own servers. */
export async function benchFollow({ only, temporal, ...options }: FollowOptions): Promise<Summary[]> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  try {
    const trackerCodePath = join(folder, 'tracker-bundle.js');
    writeFileSync(trackerCodePath, await bundleTracker());
    const place: BenchPlace = {
      folder,
      temporal,
      trackerCodePath,
    };
    const measures: Measure[] = [];
    for (const part of followParts.filter((name) => only.includes(name))) {
      measures.push(...(await parts[part](place, options)));
    }
    return measures.map(summarize);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type PartOptions = Omit<FollowOptions, 'only' | 'temporal'>;

/** Parts that vary little from round to round, or take long. */
const half = (rounds: number): number => Math.ceil(rounds / 2);

const parts: Record<FollowPart, (place: BenchPlace, options: PartOptions) => Promise<Measure[]>> = {
  events: (place, { rounds, say }) => benchEvents({ place, rounds: half(rounds), say }),
  async throughput(place, { orders, rounds, say }) {
    const live = await benchLiveOrders({ place, orders, rounds, say });
    return [...live, ...(await benchThroughput({ place, rounds, say }))];
  },
  memory: (place, { live, rounds, say }) => benchMemory({ place, live, rounds: half(rounds), say }),
};
