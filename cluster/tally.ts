/** How many checks of a part passed and failed. */
export interface Tally {
  passed: number;
  failed: number;
}

/** All of them together. */
export const sum = (tallies: readonly Tally[]): Tally => ({
  passed: tallies.reduce((total, { passed }) => total + passed, 0),
  failed: tallies.reduce((total, { failed }) => total + failed, 0),
});

export const toText = ({ passed, failed }: Tally): string => `${passed} passed, ${failed} failed`;

/** Nothing failed, and there was something to fail. */
export const isGood = ({ passed, failed }: Tally): boolean => failed === 0 && passed > 0;
