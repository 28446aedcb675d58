import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../local/temporal/project-root.js';
import {
  anchorsOf,
  brokenLinks,
  figuresIn,
  foreignCitations,
  namedPages,
  strayKinds,
  strayNames,
  unreachedPages,
} from './documents.js';
import { filesBelow, type TextFile } from './project-files.js';

const own = ['test/structure/documents.ts', 'test/structure/documents.test.ts'];
// What one session leaves the next, while work is under way.
const handover = 'docs/progress.md';
const files = filesBelow('').filter(({ path }) => path !== handover);
const pages = files.filter(({ path }) => path.endsWith('.md'));
const has = (path: string) => existsSync(join(projectRoot, path));

describe('the pages', () => {
  it.each([
    ['have links and anchors that hold', brokenLinks],
    ['are all reached from the index', unreachedPages],
    ['have one kind each', strayKinds],
  ])('%s', (_, check) => {
    expect(pages.length).toBeGreaterThan(40);
    expect(check(pages, has)).toEqual([]);
  });

  it('begin with a README of at most 150 lines', () => {
    expect(readFileSync(join(projectRoot, 'README.md'), 'utf8').split('\n').length).toBeLessThanOrEqual(151);
  });

  it('show the figures of docs/figures.json, each in more than one place', () => {
    const figures = JSON.parse(readFileSync(join(projectRoot, 'docs/figures.json'), 'utf8')) as Record<string, string>;
    const shown = pages.flatMap(figuresIn);
    for (const { name, shown: text } of shown) expect({ [name]: text }).toEqual({ [name]: figures[name] });
    for (const name of Object.keys(figures))
      expect(shown.filter((one) => one.name === name).length, name).toBeGreaterThan(1);
  });
});

describe('every other file', () => {
  const others = files.filter(({ path }) => !own.includes(path) && !path.startsWith('test/replay/'));

  it('names only pages that exist', () => {
    const missing = others.flatMap((file) =>
      namedPages(file)
        .filter((path) => !has(path))
        .map((path) => `${file.path} names ${path}`),
    );
    expect(missing).toEqual([]);
  });

  it('cites no notes that are not in the repository', () => {
    expect(others.flatMap(foreignCitations)).toEqual([]);
  });

  it('names no registry and no path of a machine', () => {
    expect(filesBelow('').flatMap(strayNames)).toEqual([]);
  });
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

  it('finds pages without a kind, and steps in a reference', () => {
    const steps = '1. Do this.';
    expect(
      strayKinds([page('docs/a.md', ''), page('docs/how-to/b.md', steps), page('docs/reference/c.md', steps)]),
    ).toEqual(['docs/a.md has no kind', 'docs/reference/c.md gives steps, which belong into how-to']);
  });

  it('finds citations of foreign notes, and leaves those of RFCs', () => {
    const text = 'given, upstream section 4\nRFC 6749 section 3.2\nsee design.md\n(upstream R9)\nassumed (5.3)';
    expect(foreignCitations(page('a.ts', text))).toEqual(['a.ts:1', 'a.ts:3', 'a.ts:4', 'a.ts:5']);
  });

  it('finds a registry and a path of a machine, and leaves folders of ours and routes', () => {
    const places = ['', 'root', 'x'].join('/');
    const host = ['registry', 'npmjs', 'org'].join('.');
    expect(strayNames(page('docs/a.md', `fine\nsee ${places}\nand https://${host}/zod`))).toHaveLength(2);
    expect(strayNames(page('docs/a.md', 'src/work/a.ts https://example.test/work/a ./root/a'))).toEqual([]);
  });
});
