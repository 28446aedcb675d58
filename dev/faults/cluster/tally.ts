/** The numbers of passed and failed checks of a part. */
export interface Tally {
  passed: number;
  failed: number;
}

/** The sum of several tallies. */
export const sum = (tallies: readonly Tally[]): Tally => ({
  passed: tallies.reduce((total, { passed }) => total + passed, 0),
  failed: tallies.reduce((total, { failed }) => total + failed, 0),
});

export const toText = ({ passed, failed }: Tally): string => `${passed} passed, ${failed} failed`;

/** No check failed, and at least one ran. */
export const isGood = ({ passed, failed }: Tally): boolean => failed === 0 && passed > 0;
