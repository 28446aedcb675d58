import { expect, it } from 'vitest';
import { filesBelow } from './project-files.js';
import { strayWords } from './vocabulary.js';

it('calls each thing by its one word', () => {
  const files = ['src', 'local', 'sandbox'].flatMap(filesBelow).filter(({ path }) => path.endsWith('.ts'));
  expect(strayWords(files)).toEqual([]);
});

it('would find another word in a path, a name and a sentence, and an exception without use', () => {
  const exception = { path: 'src/', line: /spoolSize/, why: 'for this test' };
  const entry = { say: 'journal', not: ['spool'], where: ['src/'], except: [exception] };
  const text = 'const maxSpoolSize = 1;\n// The spool is full.\nspoolSize();';
  expect(strayWords([{ path: 'src/spool.ts', text }], [entry])).toEqual([
    'src/spool.ts:0 says "spool": say journal',
    'src/spool.ts:1 says "spool": say journal',
    'src/spool.ts:2 says "spool": say journal',
  ]);
  expect(strayWords([{ path: 'src/journal.ts', text: '' }], [entry])).toHaveLength(1);
});
