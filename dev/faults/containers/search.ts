import { createReadStream, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { runCommand } from '../../stack/temporal/run-command.js';
import { formsOf } from '../chaos/leaks.js';

/** Values that may stand nowhere, by name. */
export type Values = ReadonlyMap<string, string>;

/** The names of the values that are in a text, in any form. */
export const valuesIn = (text: string, values: Values): string[] => seek(values)(text);

function seek(values: Values): (text: string) => string[] {
  const forms = [...values].map(([name, value]) => [name, formsOf(value)] as const);
  return (text) => forms.filter(([, known]) => known.some((form) => text.includes(form))).map(([name]) => name);
}

/** The names of the values that are in a stream of bytes, also across its chunks. */
export async function valuesInStream(stream: Readable, values: Values): Promise<string[]> {
  const longest = Math.max(...[...values.values()].flatMap(formsOf).map(({ length }) => length));
  const namesIn = seek(values);
  const found = new Set<string>();
  let tail = '';
  for await (const chunk of stream) {
    const text = tail + (chunk as Buffer).toString('latin1');
    for (const name of namesIn(text)) found.add(name);
    tail = text.slice(-longest);
  }
  return [...found];
}

/** The names of the values that are in an image: its settings, and every layer, whether a later one hides it or not. */
export async function valuesInImage(image: string, values: Values): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-image-'));
  try {
    const unpack = `docker save "${image}" | tar -x -C "${folder}"`;
    await runCommand('bash', ['-c', `set -o pipefail; ${unpack}`], { cwd: folder, timeLimitMs: 300_000 });
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const found = new Set<string>();
    for (const { parentPath, name } of files)
      for (const value of await valuesInFile(join(parentPath, name), values)) found.add(value);
    return [...found];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Layers may be compressed, by the choice of the daemon. */
export async function valuesInFile(path: string, values: Values): Promise<string[]> {
  const file = await open(path);
  const { buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
  await file.close();
  const bytes = createReadStream(path);
  return await valuesInStream(buffer.toString('hex') === '1f8b' ? bytes.pipe(createGunzip()) : bytes, values);
}
