import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../stack/temporal/project-root.js';
import { type BenchResults, measureOf } from './plots.js';

/** Where a figure of the pages stands in the results of the bench. */
interface FigureSource {
  bench: keyof BenchResults;
  measure: string;
  side?: 'plain';
  /** Pages say the unit beside some figures, and not beside those whose row names it. */
  hasUnit?: boolean;
}

const ride = '4-hour ride, 8 statuses, default pace, polled';
const live = '20-s orders, read each second';
const change = '20 changes/s over 200 live orders, delivery to visible status';

/** Figures of `docs/figures.json` that the bench measures, by their name there. */
const sources: Readonly<Record<string, FigureSource>> = {
  'ride-events': { bench: 'follow', measure: `${ride}: events` },
  'ride-events-of-tracker': { bench: 'follow', measure: `${ride}: events`, side: 'plain' },
  'ride-reads': { bench: 'follow', measure: `${ride}: requests to the service` },
  'ride-reads-of-tracker': { bench: 'follow', measure: `${ride}: requests to the service`, side: 'plain' },
  'token-requests': { bench: 'follow', measure: `${live}: token requests, 2 processes, 10-s tokens` },
  'token-requests-of-tracker': {
    ...{ bench: 'follow', measure: `${live}: token requests, 2 processes, 10-s tokens`, side: 'plain' },
  },
  'database-per-order': { bench: 'follow', measure: `${live}: database growth per order`, hasUnit: true },
  'database-per-order-of-tracker': {
    ...{ bench: 'follow', measure: `${live}: database growth per order`, side: 'plain', hasUnit: true },
  },
  'orders-per-second': { bench: 'follow', measure: 'orders of 4 statuses, 300 ms each, 64 in flight' },
  'delivery-to-status-median': { bench: 'ingress', measure: `${change}: p50`, hasUnit: true },
  'delivery-to-status-p99': { bench: 'ingress', measure: `${change}: p99`, hasUnit: true },
  'forwarded-per-second': {
    ...{ bench: 'ingress' },
    measure: 'Temporal back, 20,000 deliveries in the journal: forwarded/s, beside the signals/s of a bare client',
  },
};

const file = join(projectRoot, 'docs/figures.json');

/** What the pages must say, by the results of the bench. */
export const figuresOf = (results: BenchResults): Record<string, string> =>
  Object.fromEntries(
    Object.entries(sources).map(([name, { bench, measure, side, hasUnit }]) => {
      const found = measureOf(results, bench, measure);
      const value = found[side ?? 'faretrail'];
      const text = value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 1 : 0 });
      return [name, hasUnit ? `${text} ${found.unit}` : text];
    }),
  );

/** Brings the figures into `docs/figures.json` and from there into the pages. */
export function writeFigures(results: BenchResults): void {
  const before = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>;
  writeFileSync(file, `${JSON.stringify({ ...before, ...figuresOf(results) }, null, 2)}\n`);
  const { status } = spawnSync(process.execPath, [join(projectRoot, 'dev/stack/docs-figures.mjs')], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('dev/stack/docs-figures.mjs did not bring the figures into the pages');
}
