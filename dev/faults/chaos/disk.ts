import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { open } from 'lmdb';
import { openJournal } from '../../../src/webhooks/journal/journal.js';

/** The disk of the journal: a small file system of its own, which the suite fills. */
export interface Disk {
  folder: string;
  /** False: this user may not mount file systems, so the disk is that of the machine, and is never full. */
  isOwn: boolean;
  /** Leaves no room. */
  fill(): void;
  /** Gives the room back. */
  empty(): void;
  /**
   * A journal takes some megabytes in advance, and a full disk would disturb it only beyond. This gives the unused end back. No
   * process may have the journal open.
   */
  cutOff(): void;
  close(): void;
}

const megabytes = 48;
const chunk = Buffer.alloc(65_536);

/** Mounts the disk, with an empty journal. Where this user may not, the folder is an ordinary one. */
export async function openDisk(folder: string): Promise<Disk> {
  mkdirSync(folder, { recursive: true });
  const isOwn = mount(folder);
  let isMounted = isOwn;
  const filler = join(folder, 'filler');
  const unmount = (): void => {
    if (isMounted) execFileSync('umount', ['--lazy', folder], { stdio: 'ignore' });
    isMounted = false;
  };
  process.once('exit', unmount);
  const journal = await openJournal({ folder, maxBytes: 2 ** 20 });
  await journal.close();
  return {
    folder,
    isOwn,
    fill() {
      if (isMounted) writeUntilFull(filler);
    },
    cutOff() {
      if (isMounted) cutOff(folder);
    },
    empty: () => rmSync(filler, { force: true }),
    close: unmount,
  };
}

/** Ends the file of a journal that no process has open behind its last page, if there is one. Gives its size in bytes. */
export function cutOff(folder: string): number {
  const file = join(folder, 'data.mdb');
  if (!existsSync(file)) return 0;
  const database = open({ path: folder, readOnly: true });
  const { lastPageNumber, pageSize } = database.getStats() as { lastPageNumber: number; pageSize: number };
  void database.close();
  const bytes = (lastPageNumber + 1) * pageSize;
  truncateSync(file, bytes);
  return bytes;
}

function mount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The last bytes, too. */
function writeUntilFull(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (;;) writeSync(file, chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}
