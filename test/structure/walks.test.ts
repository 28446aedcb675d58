import { expect, it } from 'vitest';
import { readSources } from './project-files.js';
import { parseSource } from './source-file.js';
import { strayed, walks } from './walks.js';

const project = readSources();
const exportsOf = (path: string) => project.find((file) => file.path === path)?.exports ?? [];

it.each(walks)('a reader who follows $of opens at most $atMost files', (walk) => {
  expect(strayed(walk, project)).toEqual([]);
});

it('a delivery has four names on its way', () => {
  const onTheWay = walks.find(({ of }) => of.startsWith('a delivery'))?.files ?? [];
  const exported = project.filter(({ path }) => onTheWay.includes(path)).flatMap((file) => file.exports);
  const shapes = [...exported, ...exportsOf('src/domain/delivery.ts')].map(({ name }) => name);
  const names = shapes.filter((name) => /^([A-Z]\w*Delivery|Delivery(Body|Content|Notice|Reading))$/.test(name));
  expect([...new Set(names)].sort()).toEqual(['DeliveryNotice', 'DeliveryReading', 'JournaledDelivery', 'RawDelivery']);
});

it('would find a walk that is too long, a file that is gone, twice there or out of reach', () => {
  const a = parseSource('a.ts', `import './b.js'`);
  const files = ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'a.ts'];
  const small = [a, parseSource('b.ts', ''), parseSource('c.ts', '')];
  expect(strayed({ of: 'a letter', atMost: 4, files }, small)).toEqual([
    '5 files for a letter',
    'c.ts is not reached',
    'd.ts does not exist',
    'a.ts stands twice',
  ]);
});
