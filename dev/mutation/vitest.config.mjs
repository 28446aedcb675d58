import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import { scopes } from './scopes.mjs';

/** The tests of the domain come before those of what uses it: they are quick, and the first that fails ends the run of a mutation. */
class InnermostFirst extends BaseSequencer {
  async sort(files) {
    const rank = ({ moduleId }) =>
      ['/test/domain/', '/test/contracts/'].findIndex((part) => moduleId.includes(part)) >>> 0;
    return files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

export default defineConfig({
  test: {
    include: scopes[process.env.FARETRAIL_MUTATION_SCOPE].tests,
    setupFiles: ['dev/mutation/same-seed.mjs'],
    sequence: { sequencer: InnermostFirst },
    isolate: false,
    env: { TZ: 'UTC' },
    testTimeout: 30_000,
  },
});
