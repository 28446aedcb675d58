import { expect, it } from 'vitest';
import { filesBelow } from './project-files.js';

/** The files of `src` that say this; workflow code talks to other runs by its own means. */
const saying = (pattern: RegExp): string[] =>
  filesBelow('src')
    .filter(({ path, text }) => !path.startsWith('src/workflows/') && pattern.test(text))
    .map(({ path }) => path);

it('only the driver asks runs by their handles', () => {
  expect(saying(/\.getHandle\b/)).toEqual(['src/temporal/runs.ts']);
  expect(saying(/\.(executeUpdate|startUpdate)\b/)).toEqual(['src/temporal/runs.ts']);
  expect(saying(/\.describe\(\)/)).toEqual(['src/temporal/runs.ts']);
});

it("only the driver knows Temporal's errors of runs", () => {
  const errors =
    /instanceof Workflow(NotFound|Failed|UpdateFailed|UpdateRPCTimeoutOrCancelled|ExecutionAlreadyStarted)/;
  expect(saying(errors)).toEqual(['src/temporal/run-errors.ts', 'src/temporal/runs.ts']);
});

// A validator refuses an update that cannot be decoded before it is accepted; the key of an accepted one may go missing, and then
// the run waits for it. `onUpdate` of the run kit gives each update its validator.
it('every update has a validator', () => {
  const bareHandler = /setHandler\(\s*\w+Update\b/;
  const workflows = filesBelow('src/workflows').map(({ text }) => text);
  expect(workflows.join().match(/\bonUpdate\(\s*\w+Update\b/g)?.length).toBeGreaterThan(9);
  expect(workflows.join().match(bareHandler)).toBeNull();
  expect('setHandler(aUpdate, () => 1, { validator })').toMatch(bareHandler);
});
