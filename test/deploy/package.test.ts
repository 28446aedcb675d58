import { spawnSync } from 'node:child_process';
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
    const wanted = /^(package\.json|README\.md|LICENSE|dist\/src\/.+\.(js|css|d\.ts|sql)|docs\/schema\/[\w-]+\.json)$/;
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
