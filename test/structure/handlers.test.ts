import { expect, it } from 'vitest';
import { filesBelow } from './project-files.js';

/** Updates that a text registers itself, without the `onUpdate` of the run kit, which gives each its validator. */
const bareHandlers = (text: string): string[] => text.match(/setHandler\(\s*\w+Update\b/g) ?? [];

// Only where there is a validator is an update that cannot be decoded refused before it is accepted; the key of an accepted one may
// go missing, and then the run waits for it.
it('every update has a validator', () => {
  const texts = filesBelow('src/workflows').map(({ text }) => text);
  expect(texts.flatMap((text) => text.match(/\bonUpdate\(\s*\w+Update\b/g) ?? []).length).toBeGreaterThan(9);
  expect(texts.flatMap(bareHandlers)).toEqual([]);
  expect(bareHandlers('setHandler(aUpdate, () => 1, { validator })')).toEqual(['setHandler(aUpdate']);
});
