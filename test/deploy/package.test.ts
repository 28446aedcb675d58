import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inProject, manifest } from './deployment-files.js';

function packed(): string[] {
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json'], { cwd: inProject('.'), encoding: 'utf8' });
  const [report] = Object.values(JSON.parse(stdout) as { files: { path: string }[] }[]);
  return report?.files.map(({ path }) => path) ?? [];
}

describe('the published package', () => {
  const files = packed();

  it('holds the compiled product, its schemas, and nothing else', () => {
    expect(files).toContain('dist/src/temporal/workflow-bundle.js');
    const wanted = /^(package\.json|README\.md|LICENSE|dist\/src\/.+\.(js|d\.ts)|docs\/schema\/[\w-]+\.json)$/;
    expect(files.filter((file) => !wanted.test(file))).toEqual([]);
  });

  it('holds every file that it names', () => {
    const exported = Object.values(manifest.exports).flatMap((one) =>
      typeof one === 'string' ? one : Object.values(one),
    );
    const named = [...Object.values(manifest.bin), ...exported];
    const plain = named.filter((path) => path.length > 1 && !path.includes('*')).map((path) => path.replace('./', ''));
    expect(plain.length).toBeGreaterThan(5);
    expect(plain.filter((path) => !files.includes(path))).toEqual([]);
  });
});

describe('the page about dependencies', () => {
  const page = readFileSync(inProject('docs/internals/dependencies.md'), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const cells = rows.map((line) => line.split('|').map((cell) => cell.trim()));
  const explained = cells.flatMap(([, names = '']) => [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name));

  it('names each dependency with a reason, and no former one', () => {
    const { dependencies, devDependencies, overrides } = manifest;
    expect(explained.sort()).toEqual(Object.keys({ ...dependencies, ...devDependencies, ...overrides }).sort());
    for (const [, names, reason = ''] of cells) expect(reason.length, names).toBeGreaterThan(20);
  });
});
