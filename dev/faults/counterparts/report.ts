import Table from 'cli-table3';
import type { Tally } from '../cluster/tally.js';
import type { OnEnd } from '../profile.js';

/** What each part is given. */
export interface Wanted {
  minutes: number;
  seed: number;
  say(line: string): void;
  onEnd: OnEnd;
}

/** What one program of others tried, and what came of it. */
export interface Row {
  tool: string;
  version: string;
  tried: string;
  came: string;
  /** One line for each promise that did not hold. */
  wrong: readonly string[];
}

/** The rows as a table for a terminal, then everything that is wrong. */
export function toText(rows: readonly Row[]): string {
  const table = new Table({
    head: ['tool', 'version', 'tried', 'came'],
    colWidths: [26, 12, 44, 60],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const { tool, version, tried, came, wrong } of rows)
    table.push([tool, version, tried, wrong.length === 0 ? came : `WRONG (${wrong.length}); ${came}`]);
  const wrong = rows.flatMap((row) => row.wrong.map((line) => `WRONG: ${row.tool}: ${line}`));
  return [table.toString(), ...wrong].join('\n');
}

export const tallyOf = (rows: readonly Row[]): Tally => ({
  passed: rows.filter(({ wrong }) => wrong.length === 0).length,
  failed: rows.filter(({ wrong }) => wrong.length > 0).length,
});
