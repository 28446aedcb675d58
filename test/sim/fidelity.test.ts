import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { replay } from '../../dev/sim/replay.js';
import * as workflows from '../../src/workflows/index.js';
import { interceptors } from '../../src/workflows/interceptors.js';

const folder = new URL('../replay/histories/', import.meta.url);
const names = readdirSync(folder).flatMap((file) => (file.endsWith('.json') ? [file.replace('.json', '')] : []));
const code = { workflows, interceptors };
const read = (name: string) => readFileSync(new URL(`${name}.json`, folder), 'utf8');

it.each(names)('a recorded history gives the same commands in the simulation: %s', async (name) => {
  await replay(name, read(name), code);
});

it('a history that says something else is noticed', async () => {
  const changed = JSON.parse(read('order-completed'), (key, value) =>
    key === 'activityId' && value === '2' ? '3' : value,
  );
  await expect(replay('order-completed', JSON.stringify(changed), code)).rejects.toThrow();
});
