import type { SourceFile } from './source-file.js';

/** The sizes of the style page, in lines. */
export const budgets = { file: { median: 110, p95: 300, cap: 400 }, function: { p95: 50, cap: 80 } } as const;

/** What is over a cap, or has the type `any`, one line each. */
export function overBudget(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, lines, functions, anyLines }) => [
    ...(lines > budgets.file.cap ? [`${path} has ${lines} lines`] : []),
    ...functions
      .filter((one) => one.lines > budgets.function.cap)
      .map((one) => `${path}:${one.line} is a function of ${one.lines} lines`),
    ...anyLines.map((line) => `${path}:${line} has the type any`),
  ]);
}

/** The value that `share` of the numbers do not exceed; 0 when there are none. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
}
