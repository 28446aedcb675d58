import { renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { findServer, isExecutable, officialDownload, type ServerRecipe, type ServerSource } from './find-server.js';
import { projectRoot } from './project-root.js';
import { type Report, runCommand } from './run-command.js';
import { partialOf } from './server-cache.js';

const cliVersion = '1.8.2'; // as in dev-server-build/go.mod
const oldestServer = [1, 29] as const; // the oldest we have run against
const buildLimitMs = 30 * 60_000; // 2 to 5 minutes on two cores

const builtFromSource: ServerSource = {
  name: 'build from the Go module proxy',
  fileName: `temporal-cli-${cliVersion}`,
  async obtain(path, report) {
    const cwd = join(projectRoot, 'local/temporal/dev-server-build');
    const partial = partialOf(path);
    const versionFlag = `-X github.com/temporalio/cli/internal/temporalcli.Version=${cliVersion}`;
    const flags = ['-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', `-s -w ${versionFlag}`];
    report(`building the Temporal development server ${cliVersion} with Go (once, about 2 to 5 minutes)`);
    try {
      const args = ['build', ...flags, '-o', partial, 'github.com/temporalio/cli/cmd/temporal'];
      await runCommand('go', args, { cwd, timeLimitMs: buildLimitMs, progress: { what: 'still building', report } });
      renameSync(partial, path);
    } finally {
      rmSync(partial, { force: true });
    }
    report('built; it is kept for next time');
  },
};

const recipe: ServerRecipe = {
  what: 'Temporal development server',
  sources: [officialDownload('createLocal', 'temporal'), builtFromSource],
  remedy:
    'install the Temporal CLI (https://docs.temporal.io/cli) or Go 1.26, or set TEMPORAL_ADDRESS to a server of yours',
};

/** The path of a `temporal` program that has `server start-dev`. Throws `ServerNotFound`. */
export async function findDevServer(report: Report): Promise<string> {
  return (await onPath(report)) ?? findServer(recipe, report);
}

async function onPath(report: Report): Promise<string | undefined> {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const path = folders.map((folder) => join(folder, 'temporal')).find(isExecutable);
  if (path === undefined) return undefined;
  const versionCommand = runCommand(path, ['--version'], { cwd: projectRoot, timeLimitMs: 10_000 });
  const version = await versionCommand.catch((error: Error) => error.message);
  if (isRecentEnough(version)) return path;
  report(`passing over ${path}, Server ${oldestServer.join('.')} or newer is needed: ${version.trim()}`);
  return undefined;
}

/** Reads `temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)`. */
export function isRecentEnough(version: string): boolean {
  const [, major, minor] = /Server (\d+)\.(\d+)/.exec(version) ?? [];
  if (major === undefined) return false;
  return Number(major) > oldestServer[0] || (Number(major) === oldestServer[0] && Number(minor) >= oldestServer[1]);
}
