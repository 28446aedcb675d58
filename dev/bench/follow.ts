import { benchEvents } from './events.js';
import { benchLiveOrders } from './live-orders.js';
import { benchMemory } from './memory.js';
import type { Measure } from './report.js';
import { inFolder, type Rounds } from './rounds.js';
import type { BenchPlace, TemporalSource } from './site.js';
import { benchThroughput } from './throughput.js';
import { withTracker } from './tracker.js';

interface PartOptions extends Rounds {
  orders: number;
  live: number;
}

export interface FollowOptions extends PartOptions {
  only: readonly string[];
  temporal: TemporalSource;
}

/** Parts that vary little from round to round, or take long. */
const half = (rounds: number): number => Math.ceil(rounds / 2);

const parts = {
  events: (place, { rounds, say }) => benchEvents({ place, rounds: half(rounds), say }),
  async throughput(place, asked) {
    return [...(await benchLiveOrders({ place, ...asked })), ...(await benchThroughput({ place, ...asked }))];
  },
  memory: (place, { live, rounds, say }) => benchMemory({ place, live, rounds: half(rounds), say }),
} as const satisfies Record<string, (place: BenchPlace, options: PartOptions) => Promise<Measure[]>>;

type FollowPart = keyof typeof parts;
export const followParts = Object.keys(parts) as FollowPart[];

/** Measures the following of orders: this worker beside the plain tracker of `baseline/`, each on its own servers. */
export const benchFollow = ({ only, temporal, ...options }: FollowOptions): Promise<Measure[]> =>
  inFolder(async (folder) => {
    const place = await withTracker({ folder, temporal });
    const measures: Measure[] = [];
    for (const part of followParts.filter((name) => only.includes(name)))
      measures.push(...(await parts[part](place, options)));
    return measures;
  });
