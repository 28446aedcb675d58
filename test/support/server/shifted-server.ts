import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestContext } from 'vitest';
import { startDevServer } from '../../../dev/stack/temporal/dev-server.js';
import { devServerProgram } from '../../../dev/stack/temporal/find-dev-server.js';
import { findServer } from '../../../dev/stack/temporal/find-server.js';
import { builtWithGo } from '../../../dev/stack/temporal/go-build.js';
import { projectRoot } from '../../../dev/stack/temporal/project-root.js';
import { type Report, runCommand } from '../../../dev/stack/temporal/run-command.js';

/*
 * The development server with a wall clock that a test sets while it runs. Temporal's server takes no clock from
 * outside, and a Go program reads the time without libc, so libfaketime has no effect. The go command compiles the
 * server with another `time.Now` instead. It shifts the wall part and leaves the monotonic part, as when the clock of
 * a machine is set. Durations, timers of the Go runtime and deadlines go on. All instants are shifted: in history,
 * matching, SQLite, the frontend and the UI.
 */

const readsTheClock = 'func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n';
const imports = 'import (\n';
/** See shifted-clock.go. */
const readEveryMs = 20;

/** `time.go` of the Go standard library with a wall clock that can be shifted. Throws if the text is not as expected. */
export function withShift(text: string): string {
  for (const part of [readsTheClock, imports])
    if (text.split(part).length !== 2) throw new Error(`time.go of this Go does not have exactly once: ${part}`);
  return `${text
    .replace(readsTheClock, `${readsTheClock}\tsec += FaretrailAheadSeconds.Load()\n`)
    .replace(imports, `${imports}\t"sync/atomic"\n`)}
// FaretrailAheadSeconds shifts the wall clock.
var FaretrailAheadSeconds atomic.Int64
`;
}

/** The path of the server program. The first build takes minutes, since Go compiles everything with that `time.Now`. */
async function findShiftedServer(report: Report): Promise<string> {
  const cwd = join(projectRoot, devServerProgram.folder);
  const root = (await runCommand('go', ['env', 'GOROOT'], { cwd, timeLimitMs: 60_000 })).trim();
  const timeFile = join(root, 'src/time/time.go');
  const what = `${devServerProgram.what} with a clock that can be shifted`;
  const program = builtWithGo({
    ...devServerProgram,
    what,
    fileName: `${devServerProgram.fileName}-shifted-clock`,
    overlay: {
      [timeFile]: withShift(readFileSync(timeFile, 'utf8')),
      [join(cwd, 'shifted-clock.go')]: readFileSync(join(projectRoot, 'test/support/server/shifted-clock.go'), 'utf8'),
    },
    takes: 'about 5 minutes',
  });
  return await findServer({ what, sources: [program], remedy: 'install Go 1.26' }, report);
}

/** Starts such a server with a new database. */
export async function startShiftedServer({ onTestFinished }: Pick<TestContext, 'onTestFinished'>, aheadMs: number) {
  const folder = mkdtempSync(join(tmpdir(), 'faretrail-shifted-'));
  const clockFile = join(folder, 'ahead-ms');
  writeFileSync(clockFile, String(aheadMs));
  /** Resolves once the wall clock of the server is so far ahead. */
  const setClock = async (ms: number): Promise<void> => {
    writeFileSync(clockFile, String(ms));
    await sleep(10 * readEveryMs);
  };
  const program = await findShiftedServer((line) => process.stderr.write(`${line}\n`));
  const databaseFile = join(folder, 'temporal.db');
  const env = { FARETRAIL_TEST_SERVER_CLOCK_FILE: clockFile };
  const server = await startDevServer({ program, databaseFile, env });
  onTestFinished(() => server.stop());
  return { address: server.address, setClock };
}
