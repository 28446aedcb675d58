import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleTracker } from './baseline/worker.js';
import type { BenchPlace } from './cell.js';
import { benchBudget } from './poll-budget.js';
import { benchPollCosts } from './poll-costs.js';
import { benchIdle } from './poll-idle.js';
import { benchPollMemory } from './poll-memory.js';
import { benchVisible } from './poll-visible.js';
import { type Listing, type Measure, type Summary, summarize } from './report.js';
import type { TemporalSource } from './temporal-source.js';

export const pollParts = ['costs', 'budget', 'visible', 'memory', 'idle'] as const;
export type PollPart = (typeof pollParts)[number];

export interface PollsOptions {
  temporal: TemporalSource;
  rounds: number;
  /** Live orders of each side. */
  orders: number;
  only: readonly PollPart[];
  say: (line: string) => void;
}

/** Measures the polls of live orders. `operations`: the calls of the database for each, from the part `costs`. */
export async function benchPolls({
  temporal,
  only,
  ...options
}: PollsOptions): Promise<{ summaries: Summary[]; operations?: Listing }> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  try {
    const trackerCodePath = join(folder, 'tracker-bundle.js');
    writeFileSync(trackerCodePath, await bundleTracker());
    const place: BenchPlace = { folder, temporal, trackerCodePath };
    const costs = only.includes('costs') ? await benchPollCosts(place, options) : undefined;
    const measures: Measure[] = [...(costs?.measures ?? [])];
    for (const part of Object.keys(parts) as (keyof typeof parts)[]) {
      if (only.includes(part)) measures.push(...(await parts[part](place, options)));
    }
    return { summaries: measures.map(summarize), ...(costs && { operations: costs.operations }) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type PartOptions = Omit<PollsOptions, 'only' | 'temporal'>;

/** Parts that vary little from round to round, and take long. */
const third = (rounds: number): number => Math.ceil(rounds / 3);

const parts: Record<Exclude<PollPart, 'costs'>, (place: BenchPlace, options: PartOptions) => Promise<Measure[]>> = {
  budget: (place, { rounds, say }) => benchBudget(place, { rounds: third(rounds), say }),
  visible: benchVisible,
  memory: async (_place, { rounds }) => [await benchPollMemory(rounds)],
  idle: (place, { rounds, say }) => benchIdle(place, { rounds: third(rounds), say }),
};
