import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Works in a folder that goes when the work has ended. */
export async function inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-bench-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a bench is asked for. */
export interface Rounds {
  rounds: number;
  say: (line: string) => void;
}

/**
 * Measures each side once in a round. The sides take turns to go first, so that none always gets the warmer machine. `about` says of a side
 * what is measured, and how long that takes.
 */
export async function takeTurns<Side extends string, Result>(
  { rounds, say }: Rounds,
  sides: readonly Side[],
  about: (side: Side) => string,
  measure: (side: Side) => Promise<Result>,
): Promise<Record<Side, Result>[]> {
  const results: Record<Side, Result>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const result: Partial<Record<Side, Result>> = {};
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      say(`round ${round + 1} of ${rounds}: ${about(side)}`);
      result[side] = await measure(side);
    }
    results.push(result as Record<Side, Result>);
  }
  return results;
}

/** The same with nothing beside it. */
export async function repeat<Result>(asked: Rounds, about: string, measure: () => Promise<Result>): Promise<Result[]> {
  const results = await takeTurns(asked, ['faretrail'], () => about, measure);
  return results.map(({ faretrail }) => faretrail);
}
