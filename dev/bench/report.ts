import Table from 'cli-table3';
import { median } from './statistics.js';

/** One measure of both sides, with one value of each per round. */
export interface Measure {
  name: string;
  unit: string;
  better: 'lower' | 'higher';
  rounds: { faretrail: number; plain: number }[];
  /** A goal for the median of our side, or for the factor by which it is better. */
  goal?: Goal;
}

interface Goal {
  text: string;
  of: 'value' | 'factor';
  limit: number;
}

/** A goal for our own median. */
export const atMost = (limit: number, unit = ''): { goal: Goal } => ({
  goal: { text: `at most ${limit} ${unit}`.trim(), of: 'value', limit },
});

/** A goal beside the other side. */
export const atLeastTimes = (limit: number): { goal: Goal } => ({
  goal: { text: `at least ${limit} of it`, of: 'factor', limit },
});

/** The rounds of one side, with nothing beside it. */
export const alone = (values: readonly number[]): Measure['rounds'] =>
  values.map((faretrail) => ({ faretrail, plain: Number.NaN }));

/** A measure with its medians. `factor`: how many times better our side is, per round. Below 1 the other side is better. */
export interface Summary extends Omit<Measure, 'goal'> {
  faretrail: number;
  plain: number;
  factor: { median: number; min: number; max: number };
  goal: { text: string; met: boolean } | null;
}

export function summarize({ goal, ...measure }: Measure): Summary {
  const { rounds, better } = measure;
  const faretrail = median(rounds.map((round) => round.faretrail));
  const plain = median(rounds.map((round) => round.plain));
  const factors = rounds.map((r) => (better === 'lower' ? r.plain / r.faretrail : r.faretrail / r.plain));
  const factor = { median: median(factors), min: Math.min(...factors), max: Math.max(...factors) };
  return { ...measure, faretrail, plain, factor, goal: goal ? judge(goal, faretrail, factor.median, better) : null };
}

function judge({ text, of, limit }: Goal, value: number, factor: number, better: Measure['better']): Summary['goal'] {
  const met = of === 'factor' ? factor >= limit : better === 'lower' ? value <= limit : value >= limit;
  return { text, met };
}

/** The measures of one bench. `beside`: the name of the other side. */
export interface Group {
  name: string;
  beside: string;
  summaries: readonly Summary[];
}

/** Figures of more sides than two, without a comparison. */
export interface Listing {
  name: string;
  columns: readonly string[];
  rows: readonly { name: string; values: readonly number[] }[];
}

/** A table of its own. */
export function toListing({ name, columns, rows }: Listing): string {
  const table = new Table({
    head: [name, ...columns],
    colAligns: ['left', ...columns.map(() => 'right' as const)],
    style: { head: [], border: [] },
  });
  for (const row of rows) table.push([row.name, ...row.values.map((value) => value.toFixed(2))]);
  return table.toString();
}

/** One table of all measures. */
export function toTable(groups: readonly Group[]): string {
  const table = new Table({
    head: ['measure', 'faretrail', 'beside', 'better by (min to max)', 'goal'],
    colAligns: ['left', 'right', 'right', 'right', 'left'],
    style: { head: [], border: [] },
  });
  for (const { name, beside, summaries } of groups) {
    table.push([{ content: `${name}, beside ${beside}`, colSpan: 5 }]);
    for (const { name: measure, unit, faretrail, plain, factor, goal } of summaries) {
      const spread = `${factorText(factor.median)} (${factorText(factor.min)} to ${factorText(factor.max)})`;
      const verdict = goal ? `${goal.text}: ${goal.met ? 'met' : 'MISSED'}` : '';
      table.push([unit === '' ? measure : `${measure}, ${unit}`, figure(faretrail), figure(plain), spread, verdict]);
    }
  }
  return table.toString();
}

const figure = (value: number): string =>
  Number.isFinite(value)
    ? value.toLocaleString('en-US', { maximumFractionDigits: Math.abs(value) < 1 ? 3 : Math.abs(value) < 100 ? 1 : 0 })
    : 'none';

const factorText = (factor: number): string =>
  Number.isFinite(factor) ? `${factor.toFixed(factor < 10 ? 2 : 0)}x` : '-';
