/** What one part of the judge has found. */
export interface Verdict {
  /** One line each; none when all is well. */
  problems: string[];
  figures: Record<string, number>;
}

/** All of them as one. */
export const together = (verdicts: readonly Verdict[]): Verdict => ({
  problems: verdicts.flatMap(({ problems }) => problems),
  figures: Object.assign({}, ...verdicts.map(({ figures }) => figures)),
});
