import { benchBudget } from './poll-budget.js';
import { benchPollCosts } from './poll-costs.js';
import { benchIdle } from './poll-idle.js';
import { benchPollMemory } from './poll-memory.js';
import { benchVisible } from './poll-visible.js';
import type { Measure } from './report.js';
import { inFolder, type Rounds } from './rounds.js';
import type { BenchPlace, TemporalSource } from './site.js';
import { withTracker } from './tracker.js';

export interface PollsOptions extends Rounds {
  temporal: TemporalSource;
  /** Live orders of each side. */
  orders: number;
  only: readonly string[];
}

/** Parts that vary little from round to round, and take long. */
const third = ({ rounds, say }: Rounds): Rounds => ({ rounds: Math.ceil(rounds / 3), say });

const parts = {
  costs: benchPollCosts,
  budget: (place, asked) => benchBudget(place, third(asked)),
  visible: benchVisible,
  memory: async (_place, { rounds }) => [await benchPollMemory(rounds)],
  idle: (place, asked) => benchIdle(place, third(asked)),
} as const satisfies Record<string, (place: BenchPlace, asked: Rounds & { orders: number }) => Promise<Measure[]>>;

type PollPart = keyof typeof parts;
export const pollParts = Object.keys(parts) as PollPart[];

/** Measures the polls of live orders. */
export const benchPolls = ({ temporal, only, ...asked }: PollsOptions): Promise<Measure[]> =>
  inFolder(async (folder) => {
    const place = await withTracker({ folder, temporal });
    const measures: Measure[] = [];
    for (const part of pollParts.filter((name) => only.includes(name)))
      measures.push(...(await parts[part](place, asked)));
    return measures;
  });
