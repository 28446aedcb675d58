// Runs `npm test` several times in a row, the first runs beside busy processes:
// node dev/stack/test-runs.mjs [runs] [runs beside a load] [busy processes]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [runs = 10, loaded = 3, busy = 8] = process.argv.slice(2).map(Number);

/** Processes that each want a core for themselves. They end with this process. */
const startLoad = () =>
  Array.from({ length: busy }, () =>
    spawn(process.execPath, ['-e', 'const parent = process.ppid; while (process.ppid === parent);'], {
      stdio: 'ignore',
    }),
  );

let passed = 0;
for (let run = 1; run <= runs; run += 1) {
  const isLoaded = run <= loaded;
  const log = join(tmpdir(), `faretrail-test-run-${run}.log`);
  const load = isLoaded ? startLoad() : [];
  const began = Date.now();
  const out = openSync(log, 'w');
  const [code] = await once(spawn('npm', ['test'], { stdio: ['ignore', out, out] }), 'exit');
  for (const one of load) one.kill('SIGKILL');
  if (code === 0) passed += 1;
  const how = isLoaded ? ` beside ${busy} busy processes` : '';
  const result = code === 0 ? 'passed' : `failed, see ${log}`;
  console.log(`run ${run}${how}: ${result}, after ${Math.round((Date.now() - began) / 1_000)} s`);
}
console.log(`${passed} of ${runs} runs passed`);
process.exitCode = passed === runs ? 0 : 1;
