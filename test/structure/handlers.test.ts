import { expect, it } from 'vitest';
import { filesBelow } from './project-files.js';

/** The arguments of each `setHandler` call about an update, as text. */
function updateHandlers(text: string): string[] {
  return [...text.matchAll(/setHandler\(\s*\w+Update\b/g)].map(({ index }) => {
    let depth = 0;
    for (let at = text.indexOf('(', index); at < text.length; at += 1) {
      if (text[at] === '(') depth += 1;
      if (text[at] === ')') depth -= 1;
      if (depth === 0) return text.slice(index, at);
    }
    return text.slice(index);
  });
}

// Only where there is a validator is an update that cannot be decoded refused before it is accepted; the key of an accepted one may
// go missing, and then the run waits for it.
it('every update has a validator', () => {
  const handlers = filesBelow('src/workflows').flatMap(({ text }) => updateHandlers(text));
  expect(handlers.length).toBeGreaterThan(9);
  expect(handlers.filter((handler) => !/\bvalidator\b/.test(handler))).toEqual([]);
  expect(updateHandlers('setHandler(aUpdate, () => f(1)); validator')).toEqual(['setHandler(aUpdate, () => f(1)']);
});
