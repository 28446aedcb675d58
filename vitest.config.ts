import { defineConfig } from 'vitest/config';
import { standIns } from './dev/sim/stand-ins.mjs';
import { devServerTests } from './test/setup/dev-server-tests.js';
import { LongestFirst } from './test/setup/longest-first.js';

// A process keeps its modules from file to file: to load them anew for each takes longer than most tests.
const isolate = false;

// These meet a real Temporal server, started once per run by the global set-up; all other tests need none.
const needServers = ['test/{e2e,processes,replay,dev/stack/servers}/**/*.test.ts'];

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    globalSetup: ['test/setup/temporary-folder.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          isolate,
          setupFiles: ['test/setup/same-draws.ts'],
          maxWorkers: 4,
          include: ['test/**/*.test.ts'],
          exclude: [...needServers, 'test/sim/**'],
          env: { TZ: 'UTC' },
          expect: { poll: { timeout: 180_000 } },
          testTimeout: 600_000, // bounds a hang; no test is to fail because the machine is busy
          hookTimeout: 600_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'temporal',
          isolate,
          setupFiles: ['test/setup/same-draws.ts'],
          maxWorkers: 4, // they mostly wait; more would starve those that keep to real time
          include: needServers,
          exclude: process.env.FARETRAIL_TEST_TEMPORAL ? devServerTests() : [],
          globalSetup: ['test/setup/global-setup.ts'],
          env: { TZ: 'UTC' },
          expect: { poll: { timeout: 180_000, interval: 150 } },
          testTimeout: 600_000,
          hookTimeout: 600_000,
          sequence: { groupOrder: 1 }, // after the unit tests, whose load would spoil their timing
        },
      },
      {
        resolve: { alias: standIns },
        test: {
          name: 'simulation',
          isolate,
          setupFiles: ['test/setup/same-draws.ts', 'test/setup/quiet-runtime.ts'],
          maxWorkers: 2,
          include: ['test/sim/**/*.test.ts'],
          globalSetup: ['test/setup/global-setup.ts'],
          env: { TZ: 'UTC' },
          testTimeout: 600_000,
          hookTimeout: 600_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
