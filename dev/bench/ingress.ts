import { benchAcknowledge, type IngressOptions } from './acknowledge.js';
import { benchDrain } from './drain.js';
import { benchForwarding } from './forwarding.js';
import { benchFreshness } from './freshness.js';
import type { Measure } from './report.js';
import { inFolder } from './rounds.js';
import type { TemporalSource } from './site.js';

const parts = {
  acknowledge: benchAcknowledge,
  drain: benchDrain,
  forwarding: benchForwarding,
  freshness: benchFreshness,
} as const satisfies Record<string, (options: IngressOptions) => Promise<Measure[]>>;

type IngressPart = keyof typeof parts;
export const ingressParts = Object.keys(parts) as IngressPart[];

export interface BenchIngressOptions extends Omit<IngressOptions, 'place'> {
  only: readonly string[];
  /** One running server serves only the parts that neither stop it nor start the same runs again. */
  temporal: TemporalSource;
}

/** Measures deliveries: the way to the 2xx, the recovery from an outage, the steady state, and the way to a new status. */
export const benchIngress = ({ only, temporal, ...options }: BenchIngressOptions): Promise<Measure[]> =>
  inFolder(async (folder) => {
    const measures: Measure[] = [];
    for (const part of ingressParts.filter((name) => only.includes(name)))
      measures.push(...(await parts[part]({ ...options, place: { folder, temporal } })));
    return measures;
  });
