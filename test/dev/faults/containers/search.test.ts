import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { valuesInFile, valuesInStream } from '../../../../dev/faults/containers/search.js';

const values = new Map([
  ['first', 'secret-one'],
  ['second', 'another-secret'],
]);

it('finds a value wherever a stream is cut', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(60), { maxLength: 8 }), fc.boolean(), async (cuts, isThere) => {
      const bytes = Buffer.from(`${'x'.repeat(20)}${isThere ? 'secret-one' : 'secret-0ne'}${'y'.repeat(30)}`);
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const chunks = places.slice(1).map((end, at) => bytes.subarray(places[at], end));
      const found = await valuesInStream(Readable.from(chunks.filter(({ length }) => length > 0)), values);
      expect(found).toEqual(isThere ? ['first'] : []);
    }),
  );
});

it('finds values in a layer, compressed or not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-layers-'));
  const bytes = Buffer.concat([Buffer.alloc(100_000), Buffer.from('another-secret'), Buffer.alloc(100_000)]);
  writeFileSync(join(folder, 'plain'), bytes);
  writeFileSync(join(folder, 'packed'), gzipSync(bytes));
  writeFileSync(join(folder, 'clean'), Buffer.alloc(10));
  writeFileSync(join(folder, 'empty'), '');
  const found = await Promise.all(
    ['plain', 'packed', 'clean', 'empty'].map((name) => valuesInFile(join(folder, name), values)),
  );
  expect(found).toEqual([['second'], ['second'], [], []]);
});
