import { expect, it } from 'vitest';
import { devServerTests } from '../../setup/dev-server-tests.js';
import { filesBelow } from '../../structure/project-files.js';

const folders = ['test/e2e', 'test/dev/stack/servers', 'test/processes', 'test/workflows'];
const usesItsOwn = /\b(startDevServer|openDeliveryScene|openSite|runChaos)\(|inject\('temporalDatabaseFile'\)/;

it('leaves out, where a Temporal server is given, each test that would not meet it', () => {
  const tests = folders.flatMap(filesBelow).filter(({ path }) => path.endsWith('.test.ts'));
  const own = tests.filter(({ text }) => usesItsOwn.test(text)).map(({ path }) => path);
  expect(Object.keys(devServerTests).sort()).toEqual(own.sort());
});
