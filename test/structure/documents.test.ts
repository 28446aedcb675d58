import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../dev/stack/temporal/project-root.js';
import { anchorsOf, brokenLinks, machinePaths, namedPages, unreachedPages } from './documents.js';
import { filesBelow, type TextFile } from './project-files.js';

// What one session leaves the next, while work is under way.
const handover = 'docs/progress.md';
const files = filesBelow('').filter(({ path }) => path !== handover);
const pages = files.filter(({ path }) => path.endsWith('.md'));
const has = (path: string) => existsSync(join(projectRoot, path));

describe('the pages', () => {
  it.each([
    ['have links and anchors that hold', brokenLinks],
    ['are all reached from the index', unreachedPages],
  ])('%s', (_, check) => {
    expect(pages.length).toBeGreaterThan(40);
    expect(check(pages, has)).toEqual([]);
  });

  it('are there when another file names them', () => {
    const others = files.filter(({ path }) => !/^test\/(replay|structure)\//.test(path));
    const missing = others.flatMap((file) =>
      namedPages(file)
        .filter((path) => !has(path))
        .map((path) => `${file.path} names ${path}`),
    );
    expect(missing).toEqual([]);
  });
});

it('the README shows both commands, and CI runs the one that tests', () => {
  const textOf = (name: string) => filesBelow('').find(({ path }) => path === name)?.text ?? '';
  const start = textOf('README.md').split('## Try it')[1]?.split('\n## ')[0] ?? '';
  for (const command of ['npm start', 'npm test']) expect(start).toMatch(new RegExp(`^${command} `, 'm'));
  expect(textOf('.ci/run')).toMatch(/^npm test -- /m);
});

it('the changelog names each patch, since an earlier version cannot go on with a run that has one', () => {
  const ids = filesBelow('src').flatMap(({ text }) =>
    [...text.matchAll(/\bpatched\('([^']+)'\)/g)].map(([, id]) => id),
  );
  const log = files.filter(({ path }) => path === 'CHANGELOG.md' || path.startsWith('changes/'));
  expect(ids.length).toBeGreaterThan(5);
  expect(ids.filter((id) => !log.some(({ text }) => text.includes(`\`${id}\``)))).toEqual([]);
});

it('no test draws what another run would not', () => {
  const tests = filesBelow('test').filter(({ path }) => !path.startsWith('test/structure/'));
  expect(tests.filter(({ text }) => /\bMath\.random\b/.test(text)).map(({ path }) => path)).toEqual([]);
});

it('no file names a path of a machine', () => {
  expect(filesBelow('').flatMap(machinePaths)).toEqual([]);
});

describe('the check of pages', () => {
  const page = (path: string, text: string): TextFile => ({ path, text });

  it('finds links that lead nowhere, and reads none in code', () => {
    const text = '# A\n[a](b.md) [c](#a) [d](#x) [e](https://example.test)\n```\n[f](g.md)\n```\n`[h](i.md)`';
    expect(brokenLinks([page('docs/a.md', text)], () => false)).toEqual([
      'docs/a.md: b.md leads nowhere',
      'docs/a.md: #x names no heading',
    ]);
  });

  it('makes anchors as GitHub does', () => {
    expect(anchorsOf(page('a.md', '# A b\n## `c` & d: e\n## A b\n```\n# no\n```'))).toEqual(['a-b', 'c--d-e', 'a-b-1']);
  });

  it('finds pages that no index links to', () => {
    const index = page('docs/README.md', '[b](how-to/b.md) [d](decisions/README.md)');
    const decisions = page('docs/decisions/README.md', '[1](1.md)');
    const rest = ['how-to/b', 'how-to/c', 'decisions/1'].map((name) => page(`docs/${name}.md`, ''));
    expect(unreachedPages([index, decisions, ...rest])).toEqual(['docs/how-to/c.md']);
  });

  it('finds a path of a machine, and leaves folders of ours and routes', () => {
    expect(machinePaths(page('docs/a.md', `fine\nsee ${['', 'root', 'x'].join('/')}`))).toEqual(['docs/a.md:2']);
    expect(machinePaths(page('docs/a.md', 'src/work/a.ts https://example.test/work/a ./root/a'))).toEqual([]);
  });
});
