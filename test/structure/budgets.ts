import type { SourceFile } from './source-file.js';

/** The limits of the style page, in lines. There is no limit for a whole folder: one only made the code denser. */
export const budgets = {
  file: { cap: 400 },
  function: { cap: 80 },
} as const;

/** What is over a cap, one line each. */
export function overBudget(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, lines, functions }) => [
    ...(lines > budgets.file.cap ? [`${path} has ${lines} lines`] : []),
    ...functions
      .filter((one) => one.lines > budgets.function.cap)
      .map((one) => `${path}:${one.line} is a function of ${one.lines} lines`),
  ]);
}
