import { expect, it } from 'vitest';
import { filesBelow } from './project-files.js';
import { strayNames } from './texts.js';

it('names no registry and no path of a machine in any file', () => {
  expect(filesBelow('').flatMap(({ path, text }) => strayNames(path, text))).toEqual([]);
});

it('would find them', () => {
  const places = ['', 'root', 'x'].join('/');
  const host = ['registry', 'npmjs', 'org'].join('.');
  expect(strayNames('docs/a.md', `fine\nsee ${places}\nand https://${host}/zod`)).toHaveLength(2);
});

it('takes a folder of ours or a route for what it is', () => {
  expect(strayNames('docs/a.md', 'src/work/a.ts https://example.test/work/a ./root/a')).toEqual([]);
});
