import type { SourceFile } from './source-file.js';

/** The limits of the style page. Sizes are in lines. */
export const budgets = {
  /** All of `src`, and all of `test`. The test prints the sizes when they are over; a new capability may then raise the limit. */
  src: { files: 207, lines: 26_491 },
  test: { lines: 34_581 },
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

/** How many files there are below a folder, and how many lines in all. */
export function sizeOf(folder: string, files: readonly SourceFile[]): { files: number; lines: number } {
  const sizes = files.filter(({ path }) => path.startsWith(`${folder}/`)).map(({ lines }) => lines);
  return { files: sizes.length, lines: sizes.reduce((sum, lines) => sum + lines, 0) };
}
