// `npm run test:mutation -- domain` changes the code of `src/domain`, in a copy, by one small mutation at a time, and counts those that no
// test notices. It ends with 1 when more than 15 of 100 stay unnoticed. Files limit it: `-- domain src/domain/call.ts`. `--incremental`
// repeats only what the changes since the last such run concern.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Stryker } from '@stryker-mutator/core';
import { scopes } from './scopes.mjs';

const [scope = '', ...more] = process.argv.slice(2);
if (!Object.hasOwn(scopes, scope)) {
  console.error(`usage: npm run test:mutation -- ${Object.keys(scopes).join('|')} [--incremental] [files]`);
  process.exit(2);
}
process.env.FARETRAIL_MUTATION_SCOPE = scope; // for vitest.config.mjs
const files = more.filter((word) => word !== '--incremental');
const kept = `.faretrail/mutation/${scope}`;

const mutants = await new Stryker({
  mutate: files.length > 0 ? files : scopes[scope].mutate,
  ignorePatterns: ['/dist', '/dist.next', '/deploy', '/examples', '/dev/mutation/node_modules'],
  testRunner: scopes[scope].runner ?? 'vitest',
  plugins: ['@stryker-mutator/*', fileURLToPath(new URL('./replay-runner.mjs', import.meta.url))],
  vitest: { configFile: 'dev/mutation/vitest.config.mjs' },
  concurrency: 2,
  timeoutMS: 20_000, // a busy machine is slow; an endless loop ends earlier, at a hundred times the usual count of hits
  disableTypeChecks: false, // no test run checks types
  tsconfigFile: 'none', // ours names nothing outside of the copy, and TypeScript 7 does not let Stryker read it
  incremental: more.includes('--incremental'),
  incrementalFile: `${kept}-incremental.json`,
  tempDirName: '.faretrail/mutation/copies',
  reporters: [process.stdout.isTTY ? 'progress' : 'progress-append-only', 'html', 'clear-text'],
  htmlReporter: { fileName: `${kept}.html` },
  clearTextReporter: { reportMutants: false, reportTests: false },
  thresholds: { high: 95, low: 85, break: 85 },
  warnings: { slow: false },
  logLevel: 'warn',
}).runMutationTest();

const unnoticed = mutants.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
const lines = unnoticed.map(({ fileName, location: { start }, mutatorName, replacement = '', status }) => {
  const change = replacement.replace(/\s+/g, ' ').slice(0, 100);
  return `${relative('.', fileName)}:${start.line}:${start.column} ${mutatorName}: ${change}${status === 'Survived' ? '' : ' (no test runs it)'}\n`;
});
writeFileSync(`${kept}.txt`, lines.sort().join(''));
console.log(`${lines.length} changes went unnoticed: ${kept}.txt lists them, ${kept}.html shows them in the code.`);
