import { delimiter, join } from 'node:path';
import { findServer, isExecutable, officialDownload, type ServerRecipe } from './find-server.js';
import { builtWithGo, type GoProgram } from './go-build.js';
import { projectRoot } from './project-root.js';
import { type Report, runCommand } from './run-command.js';

const serverVersion = '1.31.2'; // as in dev-server-build/go.mod
const oldestServer = [1, 29] as const; // the oldest that we have tested

/** Our own program around Temporal's server and UI. What it can do, it does at the words of the Temporal CLI. */
export const devServerProgram: GoProgram = {
  what: `the Temporal development server ${serverVersion}`,
  folder: 'dev/stack/temporal/dev-server-build',
  package: '.',
  ours: '.',
  fileName: `temporal-dev-server-${serverVersion}`,
  takes: 'about 2 minutes',
};

const recipe: ServerRecipe = {
  what: 'Temporal development server',
  sources: [officialDownload(), builtWithGo(devServerProgram)],
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
