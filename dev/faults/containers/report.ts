import Table from 'cli-table3';
import type { Report } from '../../stack/temporal/run-command.js';
import type { Tally } from '../cluster/tally.js';

/** Collects checks and times. */
export interface Findings {
  /** Names of what is wrong; none: the check has passed. */
  check(what: string, wrong: readonly string[]): void;
  /** Runs a step and notes how long it took. Slower than the limit is a failed check. */
  time<Result>(what: string, step: () => Promise<Result>, limitSeconds?: number): Promise<Result>;
  tally(): Tally;
  table(): string;
}

interface Row {
  what: string;
  seconds: number;
  limit?: number | undefined;
}

export function openFindings(say: Report): Findings {
  const tally: Tally = { passed: 0, failed: 0 };
  const rows: Row[] = [];

  function check(what: string, wrong: readonly string[]): void {
    if (wrong.length === 0) tally.passed += 1;
    else tally.failed += 1;
    say(wrong.length === 0 ? `ok: ${what}` : `WRONG: ${what}: ${wrong.slice(0, 10).join('; ')}`);
  }

  return {
    check,
    async time(what, step, limit) {
      const startedAt = performance.now();
      const result = await step();
      const seconds = (performance.now() - startedAt) / 1_000;
      rows.push({ what, seconds, limit });
      const took = `${what}: ${seconds.toFixed(1)} s`;
      if (limit === undefined) say(took);
      else check(`${what} within ${limit} s`, seconds > limit ? [took] : []);
      return result;
    },
    tally: () => tally,
    table() {
      const table = new Table({
        head: ['what', 'took', 'goal'],
        colAligns: ['left', 'right', 'right'],
        style: { head: [], border: [] },
      });
      for (const { what, seconds, limit } of rows)
        table.push([what, `${seconds.toFixed(1)} s`, limit === undefined ? '' : `${limit} s`]);
      return table.toString();
    },
  };
}
