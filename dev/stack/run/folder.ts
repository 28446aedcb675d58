import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { FaretrailError } from '../../../src/domain/errors.js';
import { JournalError, lockFolder } from '../../../src/webhooks/journal/folder.js';

/** What a stack notes about itself in its folder. */
interface Note {
  pid: number;
  /** Its parts, which may live a moment longer. */
  parts: readonly number[];
  urls: Readonly<Record<string, string>>;
}

/** The folder of the local stack, held by this process alone. */
export interface StackFolder {
  /** Notes the parts and URLs for whoever starts a second stack, and for the stack after a crash. */
  note(parts: readonly number[], urls: Note['urls']): void;
  release(): Promise<void>;
}

/**
 * Takes the folder, makes it readable for this user alone, and waits for the parts of a stack that was killed. Throws
 * `FaretrailError` where another stack runs there, or nothing can be written.
 */
export async function claimFolder(folder: string): Promise<StackFolder> {
  const file = join(folder, 'stack.json');
  const name = basename(folder);
  const unlock = await lock(folder).catch((error: unknown) => {
    if (error instanceof JournalError) throw new FaretrailError('AlreadyRunning', alreadyRunning(readNote(file)));
    throw new FaretrailError('FolderUnwritable', `cannot write to ${name} (${(error as NodeJS.ErrnoException).code})`);
  });
  await untilGone(readNote(file)?.parts ?? []);
  // Of stacks of earlier releases, which could run several in one folder.
  for (const entry of readdirSync(folder))
    if (/^temporal-\d+\.db/.test(entry)) rmSync(join(folder, entry), { force: true });
  const note = (parts: readonly number[], urls: Note['urls']) =>
    writeFileSync(file, JSON.stringify({ pid: process.pid, parts, urls } satisfies Note), { mode: 0o600 });
  note([], {});
  return {
    note,
    async release() {
      rmSync(file, { force: true });
      await unlock();
    },
  };
}

/** Orders and persons stand in databases, journals and logs. */
async function lock(folder: string): Promise<() => Promise<void>> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const unlock = await lockFolder(folder);
  chmodSync(folder, 0o700);
  for (const { name, parentPath } of readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile()))
    chmodSync(join(parentPath, name), 0o600);
  return unlock;
}

function readNote(file: string): Note | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Note;
  } catch {
    return undefined; // none, or half of one
  }
}

function alreadyRunning(found: Note | undefined): string {
  const urls = Object.entries(found?.urls ?? {}).map(([name, url]) => `\n  ${name.padEnd(9)} ${url}`);
  return `already running here (pid ${found?.pid ?? 'unknown'})${urls.join('')}`;
}

/** A server that was left alone ends within two seconds. Two must never share a database. */
async function untilGone(pids: readonly number[]): Promise<void> {
  for (let tries = 0; tries < 100 && pids.some(isAlive); tries += 1) await pause(100);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The journal of this stack: that of the one before, unless its keys are gone, since nothing else can open it. */
export function placeJournal(folder: string, before: string | undefined, isReadable: boolean): string {
  const journal = join(folder, 'journal');
  const isKept = isReadable && before !== undefined && existsSync(before);
  if (isKept && before !== journal && !existsSync(journal)) renameSync(before, journal);
  if (!isKept) rmSync(journal, { recursive: true, force: true });
  for (const entry of readdirSync(folder))
    if (/^journal-\d+$/.test(entry)) rmSync(join(folder, entry), { recursive: true, force: true });
  return journal;
}
