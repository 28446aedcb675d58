import type { SourceFile } from './source-file.js';

/** The limits of the style page. Sizes are in lines. */
export const budgets = {
  /** All of `src`, and all of `test`. What a new capability needs is added here, by the change that brings it. */
  src: { files: 250, lines: 27_646 },
  test: { lines: 39_619 },
  file: { p95: 300, cap: 400 },
  function: { p95: 50, cap: 80 },
  /** A file with fewer lines and a single importer belongs into that importer. */
  small: { lines: 40, atMost: 20 },
} as const;

/** Small files that stand alone all the same, and why. */
export const smallFiles: Readonly<Record<string, string>> = {
  'src/client/in-workflow.ts': 'a door of the package: for the workflow code of others, which may load little',
  'src/client/ride-orders.ts': 'a door of the package: the Nexus service, for the workflow code of others',
  'src/ingress-thread.ts': 'a process: the thread of the ingress',
  'src/sealing/encoded-failures.ts': 'Temporal loads it by its path',
  'src/sealing/plain-failures.ts': 'Temporal loads it by its path',
  'src/workflows/index.ts': 'Temporal loads it by its path: the bundle of workflows',
  'src/workflows/replay-gate.ts': 'a workflow, which joins nothing else',
  'src/workflows/sdk-core-1146.ts': 'a defect of the SDK, named so that it goes with it',
};

/** What is over a cap, one line each. */
export function overBudget(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, lines, functions }) => [
    ...(lines > budgets.file.cap ? [`${path} has ${lines} lines`] : []),
    ...functions
      .filter((one) => one.lines > budgets.function.cap)
      .map((one) => `${path}:${one.line} is a function of ${one.lines} lines`),
  ]);
}

/** Files of `src` that are small and have one importer there, or none. */
export function smallAndAlone(files: readonly SourceFile[]): string[] {
  const inSrc = files.filter(({ path }) => path.startsWith('src/'));
  const importersOf = (path: string): number =>
    inSrc.filter((other) => other.imports.some(({ target }) => target === path)).length;
  return inSrc
    .filter(({ path, lines }) => lines < budgets.small.lines && importersOf(path) < 2)
    .map(({ path }) => path)
    .sort();
}

/** How many files there are below a folder, and how many lines in all. */
export function sizeOf(folder: string, files: readonly SourceFile[]): { files: number; lines: number } {
  const sizes = files.filter(({ path }) => path.startsWith(`${folder}/`)).map(({ lines }) => lines);
  return { files: sizes.length, lines: sizes.reduce((sum, lines) => sum + lines, 0) };
}

/** The value that `share` of the numbers do not exceed; 0 when there are none. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
}
