import { describe, expect, it } from 'vitest';
import { brokenRules, forbiddenImports } from './architecture.js';
import { overBudget } from './budgets.js';
import { filesBelow, readSources } from './project-files.js';
import { parseSource } from './source-file.js';

const project = readSources();

it('the project imports only what the table allows', () => {
  expect(forbiddenImports(project)).toEqual([]);
});

it('the source uses public parts only, and does each thing in its place', () => {
  expect(brokenRules(filesBelow('src'))).toEqual([]);
});

it('no file and no function is over its cap', () => {
  expect(overBudget(project)).toEqual([]);
});

describe('the check of imports', () => {
  it.each([
    ['src/domain/ride.ts', `import { z } from 'zod'`, 'zod'],
    ['src/contracts/ride.ts', `import { rides } from '../ride-api/rides.js'`, 'src/ride-api/rides.ts'],
    ['src/activities/ride.ts', `export * from '../workflows/ride.js'`, 'src/workflows/ride.ts'],
    ['src/workflows/ride.ts', `import { type Rides } from '../activities/rides.js'`, 'src/activities/rides.ts'],
    ['src/workflows/ride.ts', `const { z } = await import('zod')`, 'zod'],
    ['src/webhooks/ride.ts', `import type { Client } from '@temporalio/client'`, '@temporalio/client (type)'],
    ['src/worker.ts', `import './ingress.js'`, 'src/ingress.ts'],
    ['src/order-worker.ts', `import { loadConfig } from './config.js'`, 'src/config.ts'],
    ['dev/sandbox/ride.ts', `import { rides } from '../../src/ride-api/rides.js'`, 'src/ride-api/rides.ts'],
  ])('refuses in %s: %s', (path, text, target) => {
    expect(forbiddenImports([parseSource(path, text)])).toEqual([`${path}:1 may not import ${target}`]);
  });

  it('accepts types where the table has types alone, and asks for a row for each new folder', () => {
    const rides = parseSource('src/workflows/ride.ts', `import type { Rides } from '../activities/rides.js'`);
    expect(forbiddenImports([rides])).toEqual([]);
    expect(forbiddenImports([parseSource('src/gossip/ride.ts', '')])).toHaveLength(1);
  });
});

it.each([
  ["import { x } from '@temporalio/common/lib/time.js'", 'a deep import of the SDK'],
  ['const { nativeWorker } = worker as object', 'the native bridge of the SDK'],
  ['const more: object = { isolateExecutionTimeout: 60_000 }', 'a hidden option'],
  ['globalHandlers.setPromiseHook = () => {}', 'the promise hook of the SDK'],
  ["const threads = createRequire(import.meta.url)('node:worker_threads')", 'a patched thread'],
  ['Socket.prototype.read = skip', 'a patched prototype'],
  ['service.listTaskQueuePartitions(request)', 'names of partitions'],
  ['const { read } = proxyLocalActivities({})', 'a local activity'],
  ['const port =\n  process.env.PORT', 'a read of the environment in a folder'],
  ['const blanks = / +/gu;', 'a regular expression with a state'],
  ["const blanks = new RegExp(' +', 'y');", 'a regular expression with a state'],
  ['setHandler(aUpdate, () => 1, { validator })', 'an update without a validator'],
  ["import { condition, setHandler, sleep } from '@temporalio/workflow'", 'a handler without a description'],
])('the check of rules finds in %j: %s', (text, what) => {
  expect(brokenRules([{ path: 'src/workflows/a.ts', text }])).toEqual([`src/workflows/a.ts: ${what}`]);
});

it.each([
  ['a clock that is read outside src/clock.ts', 'const { now = Date.now } = ports;'],
  ['a clock that is read outside src/clock.ts', 'const at = new Date().toISOString();'],
  ['a clock that is read outside src/clock.ts', 'const since = performance.now();'],
  ['a duration by the wall clock', 'until.set(account, now() + forMs);'],
  ['a duration by the wall clock', 'return next.due - this.#ports.now();'],
  ['a duration by the wall clock', 'if (now() < pausedUntil) return;'],
  ['a duration by the wall clock', 'const isOver = now() >= until;'],
  ['a duration by the wall clock', 'if (until > this.#now()) continue;'],
  ['a duration by the wall clock', 'const leftMs = until - wallMs();'],
])('the check of clocks finds %s in %j', (what, text) => {
  expect(brokenRules([{ path: 'src/activities/a.ts', text }])).toEqual([`src/activities/a.ts: ${what}`]);
});

it('the check of clocks takes instants by the wall clock and durations by the monotonic one, and leaves workflows alone', () => {
  const text = 'const at = iso(now()); const say = (): number => now(); const until = monotonic() + 5_000;';
  expect(brokenRules([{ path: 'src/activities/a.ts', text }])).toEqual([]);
  expect(brokenRules([{ path: 'src/workflows/a.ts', text: 'const at = Date.now() + 5;' }])).toEqual([]);
});

it('the check of rules finds a call of a run beside the driver, and no state where each call makes the expression', () => {
  expect(brokenRules([{ path: 'src/cli/a.ts', text: 'client.workflow.getHandle(id)' }])).toHaveLength(1);
  expect(
    brokenRules([{ path: 'src/domain/a.ts', text: 'const of = (text: string) => text.replace(/ +/g, "");' }]),
  ).toEqual([]);
});

it('the check of sizes finds a file and a function over its cap, and does not count the callback of a describe', () => {
  const linesOf = (count: number) => '\n'.repeat(count - 1);
  const text = `export const a = () => {${linesOf(81)}};${linesOf(330)}void 0;`;
  expect(overBudget([parseSource('src/domain/big.ts', text)])).toEqual([
    'src/domain/big.ts has 410 lines',
    'src/domain/big.ts:1 is a function of 81 lines',
  ]);
  const long = `() => {${linesOf(81)}}`;
  const described = `describe('a', ${long}); describe.each([])('b', ${long}); it('c', ${long});`;
  expect(overBudget([parseSource('test/a.test.ts', described)])).toHaveLength(1);
});
