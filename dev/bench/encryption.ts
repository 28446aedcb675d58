import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BenchPlace, openCell } from './cell.js';
import { type Measure, type Summary, summarize } from './report.js';
import type { TemporalSource } from './temporal-source.js';
import { cadence, followMany, inFlight, processes, type Rates } from './throughput.js';

export interface EncryptionOptions {
  temporal: TemporalSource;
  rounds: number;
  say: (line: string) => void;
}

interface Cost {
  rates: Rates;
  databaseBytes: number;
}

const both = ['encrypted', 'clear'] as const;
type Kind = (typeof both)[number];

/** Measures the cost of payload encryption: workers that encrypt, beside the same workers without encryption. */
export async function benchEncryption({ temporal, rounds, say }: EncryptionOptions): Promise<Summary[]> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  try {
    const place = { folder, temporal, trackerCodePath: '' };
    const costs: Record<Kind, Cost>[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const cost: Partial<Record<Kind, Cost>> = {};
      for (const kind of round % 2 === 0 ? both : both.toReversed()) {
        say(`encryption: ${kind}, round ${round + 1} of ${rounds}, about 20 s`);
        cost[kind] = await measure(place, kind);
      }
      costs.push(cost as Record<Kind, Cost>);
    }
    return toMeasures(costs).map(summarize);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(place: BenchPlace, kind: Kind): Promise<Cost> {
  const payloadKeys = `k1:${randomBytes(32).toString('base64url')}`;
  const cell = await openCell(place, {
    side: 'faretrail',
    processes,
    cadence,
    ...(kind === 'encrypted' && { payloadKeys }),
  });
  try {
    const bytesBefore = cell.databaseBytes();
    const { rates, orders } = await followMany(cell);
    return { rates, databaseBytes: (cell.databaseBytes() - bytesBefore) / orders };
  } finally {
    await cell.close();
  }
}

function toMeasures(costs: readonly Record<Kind, Cost>[]): Measure[] {
  const loads = Object.keys(costs[0]?.encrypted.rates ?? {}) as (keyof Rates)[];
  return [
    ...loads.map(
      (load): Measure => ({
        name: `orders ${load}, ${inFlight} in flight`,
        unit: 'orders/s',
        better: 'higher',
        rounds: costs.map(({ encrypted, clear }) => ({ faretrail: encrypted.rates[load], plain: clear.rates[load] })),
      }),
    ),
    {
      name: 'database growth per order of these',
      unit: 'kB',
      better: 'lower',
      rounds: costs.map(({ encrypted, clear }) => ({
        faretrail: encrypted.databaseBytes / 1_000,
        plain: clear.databaseBytes / 1_000,
      })),
    },
  ];
}
