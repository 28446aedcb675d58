/*
 * One seed decides what the tests draw, so that each run of `npm test` does the same. `FARETRAIL_TEST_SEED` names
 * another one, and `random` stands for a fresh one, which the global set-up draws, prints, and hands to the test
 * processes.
 */
export const fixedSeed = 50;

const variable = 'FARETRAIL_TEST_SEED';

/** Replaces `random` by a number. Runs once, before the test processes start. */
export function settleSeed(say: (line: string) => void): void {
  const given = process.env[variable];
  if (given === undefined) return;
  if (given !== 'random' && !/^\d{1,9}$/.test(given)) throw new Error(`${variable}: must be "random" or a number`);
  const seed = given === 'random' ? Date.now() % 1_000_000_000 : Number(given);
  process.env[variable] = String(seed);
  say(`the tests draw by seed ${seed}: ${variable}=${seed} repeats them`);
}

/** The seed of this run. */
export const testSeed = (): number => Number(process.env[variable] ?? fixedSeed);
