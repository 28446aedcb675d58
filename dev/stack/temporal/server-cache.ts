import { createHash } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Report } from './run-command.js';

/** The folder of fetched and built servers, for all checkouts: `$XDG_CACHE_HOME/faretrail` or `~/.cache/faretrail`. */
export function serverCache(): string {
  const directory = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'faretrail');
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** A name for unfinished work on `path`. No process takes it for finished work, and no other process writes to it. */
export const partialOf = (path: string): string => `${path}.${process.pid}.partial`;

/** A folder in the cache that `make` fills once for what it depends on. */
export async function keptFolder(
  name: string,
  dependsOn: readonly string[],
  report: Report,
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(dependsOn)).digest('hex').slice(0, 12);
  const folder = join(serverCache(), `${name}-${hash}`);
  const mark = join(folder, 'complete'); // the folder cannot be made elsewhere and moved: its scripts may name it
  await underLock(folder, report, async () => {
    if (existsSync(mark)) return;
    report(`making ${folder} ready`);
    mkdirSync(folder, { recursive: true });
    await make(folder);
    writeFileSync(mark, '');
  });
  return folder;
}

const lookAgainEveryMs = 250;

/**
 * Runs `work` while no other process on this machine runs it under the same path, which gets the suffix `.lock`.
 * The lock holds its owner's pid, so that the next process can take over the lock of a killed one and remove its files.
 */
export async function underLock<T>(path: string, report: Report, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  for (let waiting = false; !isTaken(lock); waiting = true) {
    const owner = ownerOf(lock);
    if (owner !== undefined && !isAlive(owner)) rmSync(lock, { force: true });
    else if (!waiting) report(`waiting for process ${owner ?? '?'}, which is doing the same (its lock is ${lock})`);
    await pause(lookAgainEveryMs);
  }
  const release = () => rmSync(lock, { force: true });
  process.once('exit', release);
  try {
    removeLeavings(dirname(path));
    return await work();
  } finally {
    process.off('exit', release);
    release();
  }
}

/** Takes the lock if it is free. Another process never sees half a link, unlike a new file. */
function isTaken(lock: string): boolean {
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, lock);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(mine);
  }
}

function ownerOf(lock: string): number | undefined {
  try {
    return Number(readFileSync(lock, 'utf8'));
  } catch {
    return undefined; // its owner has released it meanwhile
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Removes unfinished work of processes that have ended. */
function removeLeavings(directory: string): void {
  for (const name of readdirSync(directory)) {
    const [, pid] = /\.(\d+)\.partial$/.exec(name) ?? [];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(directory, name), { recursive: true, force: true });
  }
}
