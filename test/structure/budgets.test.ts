import { describe, expect, it } from 'vitest';
import { budgets, overBudget, percentile, sizeOf, smallAndAlone, smallFiles } from './budgets.js';
import { readSources } from './project-files.js';
import { parseSource } from './source-file.js';

const project = readSources();
const fileSizes = project.map(({ lines }) => lines);
const functionSizes = project.flatMap(({ functions }) => functions.map(({ lines }) => lines));

describe('the project', () => {
  it('has no file or function over its cap', () => {
    expect(overBudget(project)).toEqual([]);
  });

  it('has mostly small files and functions', () => {
    expect(percentile(fileSizes, 0.95)).toBeLessThanOrEqual(budgets.file.p95);
    expect(percentile(functionSizes, 0.95)).toBeLessThanOrEqual(budgets.function.p95);
  });

  it('does not outgrow its limits', () => {
    const src = sizeOf('src', project);
    expect(src.files).toBeLessThanOrEqual(budgets.src.files);
    expect(src.lines).toBeLessThanOrEqual(budgets.src.lines);
    expect(sizeOf('test', project).lines).toBeLessThanOrEqual(budgets.test.lines);
  });

  it('has no small file that belongs into its one importer', () => {
    expect(smallAndAlone(project)).toEqual(Object.keys(smallFiles));
    expect(Object.keys(smallFiles).length).toBeLessThanOrEqual(budgets.small.atMost);
  });
});

describe('the check of sizes', () => {
  const linesOf = (count: number) => '\n'.repeat(count - 1);

  it('finds a file and a function over its cap', () => {
    const text = `export const a = () => {${linesOf(81)}};${linesOf(330)}void 0;`;
    expect(overBudget([parseSource('src/domain/big.ts', text)])).toEqual([
      'src/domain/big.ts has 410 lines',
      'src/domain/big.ts:1 is a function of 81 lines',
    ]);
  });

  it('counts the function in a describe, and not the describe', () => {
    const long = `() => {${linesOf(81)}}`;
    expect(
      overBudget([parseSource('test/a.test.ts', `describe('a', ${long}); describe.each([])('b', ${long});`)]),
    ).toEqual([]);
    expect(overBudget([parseSource('test/a.test.ts', `describe('a', () => { it('b', ${long}); });`)])).toHaveLength(1);
  });

  it('finds a small file that has one importer, and not one that has two', () => {
    const user = (path: string) => parseSource(path, `import './ride.js'; import './order.js'`);
    const alone = [
      parseSource('src/order.ts', `${linesOf(50)}void 0;`),
      parseSource('src/ride.ts', ''),
      user('src/a.ts'),
    ];
    expect(smallAndAlone(alone)).toEqual(['src/a.ts', 'src/ride.ts']);
    expect(smallAndAlone([...alone, user('src/b.ts')])).toEqual(['src/a.ts', 'src/b.ts']);
    expect(sizeOf('src', alone)).toEqual({ files: 3, lines: 52 });
  });

  it('gives the value that a share of the numbers do not exceed', () => {
    expect(percentile([5, 1, 4, 2, 3], 0.5)).toBe(3);
    expect(percentile([], 0.95)).toBe(0);
  });
});
