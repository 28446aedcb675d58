import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { FaretrailError } from '../../../src/domain/errors.js';
import { projectRoot } from './project-root.js';
import { type Report, runCommand } from './run-command.js';
import { serverCache, underLock } from './server-cache.js';

/** No source gave a server program. The message names each source, why it failed, and the remedy. */
export class ServerNotFound extends FaretrailError<'ServerNotFound'> {
  override readonly name = 'ServerNotFound';
}

/** One way to get a server program into the cache. */
export interface ServerSource {
  name: string;
  /** Puts the whole program at `path`, or throws if the source does not work here. */
  obtain(path: string, report: Report): Promise<void>;
  /** The path of the program, relative to the cache. */
  fileName: string;
}

export interface ServerRecipe {
  what: string;
  sources: readonly ServerSource[];
  remedy: string;
}

/** The path of a server program, from the cache or from the first source that works here. Throws `ServerNotFound`. */
export async function findServer(recipe: ServerRecipe, report: Report, cache = serverCache()): Promise<string> {
  const inCache = () => recipe.sources.map(({ fileName }) => join(cache, fileName)).find(isExecutable);
  const lockName = join(cache, recipe.what.toLowerCase().replaceAll(' ', '-'));
  return inCache() ?? underLock(lockName, report, async () => inCache() ?? (await obtain(recipe, report, cache)));
}

async function obtain(recipe: ServerRecipe, report: Report, cache: string): Promise<string> {
  const failures: string[] = [];
  for (const { name, fileName, obtain } of recipe.sources) {
    const path = join(cache, fileName);
    const failure = await obtain(path, report).catch((error: unknown) => error);
    if (isExecutable(path)) return path;
    failures.push(`- ${name}: ${failure instanceof Error ? failure.message : 'left no program behind'}`);
  }
  const message = [`No ${recipe.what} to be had. Tried:`, ...failures, `Remedy: ${recipe.remedy}`].join('\n');
  throw new ServerNotFound('ServerNotFound', message);
}

/** Is there a program at `path` that we may run? */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const downloadLimitMs = 180_000; // some 60 MB over a slow line
const downloadScript = `
  import { TestWorkflowEnvironment } from '@temporalio/testing';
  const [downloadDir] = process.argv.slice(1);
  const server = { executable: { type: 'cached-download', downloadDir } };
  const env = await TestWorkflowEnvironment.createLocal({ server }).catch(({ message }) => console.log(message));
  await env?.teardown();
  process.exit(env ? 0 : 1);`;

/** The SDK's own download. It installs the SDK's `Runtime`, of which a process has only one, so it runs in its own process. */
export function officialDownload(): ServerSource {
  const sdkVersion: unknown = createRequire(import.meta.url)('@temporalio/testing/package.json').version;
  return {
    name: 'official download',
    fileName: `temporal-sdk-typescript-${sdkVersion}`, // the SDK's choice, see ephemeral_server/mod.rs of its core
    async obtain(path, report) {
      const args = ['--input-type=module', '-e', downloadScript, join(path, '..')];
      const progress = { what: 'downloading', report };
      await runCommand(process.execPath, args, { cwd: projectRoot, timeLimitMs: downloadLimitMs, progress });
    },
  };
}
