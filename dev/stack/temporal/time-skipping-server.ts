import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findServer, officialDownload, type ServerRecipe, type ServerSource } from './find-server.js';
import { projectRoot } from './project-root.js';
import { type Report, runCommand } from './run-command.js';
import { partialOf } from './server-cache.js';

const serverVersion = '1.32.0'; // as in time-skipping-build/pom.xml
const fetchLimitMs = 10 * 60_000; // 10 s on a good line

// Paths are relative to the script, since we rename the folder once it is complete.
const startScript = `#!/bin/sh
exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$(dirname "$0")/lib/*" io.temporal.testserver.TestServer "$@"
`;

const fromMaven: ServerSource = {
  name: 'jars from Maven Central',
  fileName: `time-skipping-server-${serverVersion}/start`,
  async obtain(path, report) {
    const folder = dirname(path);
    const partial = partialOf(folder);
    const goals = ['-B', '-q', 'dependency:copy-dependencies', '-DincludeScope=runtime'];
    const cwd = join(projectRoot, 'dev/stack/temporal/time-skipping-build');
    const options = { cwd, timeLimitMs: fetchLimitMs, progress: { what: 'still fetching', report } };
    report(`fetching the Temporal time-skipping test server ${serverVersion} with Maven (once, about 10 s)`);
    try {
      await runCommand('java', ['-version'], options);
      await runCommand('mvn', [...goals, `-DoutputDirectory=${join(partial, 'lib')}`], options);
      mkdirSync(partial, { recursive: true });
      writeFileSync(join(partial, 'start'), startScript);
      chmodSync(join(partial, 'start'), 0o755);
      rmSync(folder, { recursive: true, force: true });
      renameSync(partial, folder);
    } finally {
      rmSync(partial, { recursive: true, force: true });
    }
  },
};

const recipe: ServerRecipe = {
  what: 'Temporal time-skipping server',
  sources: [officialDownload('createTimeSkipping', 'temporal-test-server'), fromMaven],
  remedy: 'install Java 11 or newer together with Maven, or allow the download from temporal.download',
};

/** The path of a time-skipping test server, for `executable: { type: 'existing-path', path }`. Throws `ServerNotFound`. */
export async function findTimeSkippingServer(report: Report): Promise<string> {
  return findServer(recipe, report);
}
