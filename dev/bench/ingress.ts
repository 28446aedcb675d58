import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchAcknowledge, type IngressOptions } from './acknowledge.js';
import { benchDrain } from './drain.js';
import { benchForwarding } from './forwarding.js';
import { benchFreshness } from './freshness.js';
import { type Measure, type Summary, summarize } from './report.js';
import type { TemporalSource } from './temporal-source.js';

const parts = {
  acknowledge: benchAcknowledge,
  drain: benchDrain,
  forwarding: benchForwarding,
  freshness: benchFreshness,
} as const satisfies Record<string, (options: IngressOptions) => Promise<Measure[]>>;

export type IngressPart = keyof typeof parts;
export const ingressParts = Object.keys(parts) as IngressPart[];

export interface BenchIngressOptions extends Omit<IngressOptions, 'place'> {
  only: readonly IngressPart[];
  /** One running server serves only the parts that neither stop it nor start the same runs again. */
  temporal: TemporalSource;
}

/** Measures deliveries: the way to the 2xx, the recovery from an outage, the steady state, and the way to a new status. */
export async function benchIngress({ only, temporal, ...options }: BenchIngressOptions): Promise<Summary[]> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  try {
    const place = { folder, temporal };
    const measures: Measure[] = [];
    for (const part of ingressParts.filter((name) => only.includes(name))) {
      measures.push(...(await parts[part]({ ...options, place })));
    }
    return measures.map(summarize);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
