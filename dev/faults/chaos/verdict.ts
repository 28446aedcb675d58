/** The result of one part of the judge. */
export interface Verdict {
  /** One line for each problem. */
  problems: string[];
  figures: Record<string, number>;
}

/** Joins verdicts into one. */
export const together = (verdicts: readonly Verdict[]): Verdict => ({
  problems: verdicts.flatMap(({ problems }) => problems),
  figures: Object.assign({}, ...verdicts.map(({ figures }) => figures)),
});
