import { mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { JournalError, reasonOf } from './entries.js';

/** LMDB's mark, in the header of its first page. */
const magic = { value: 0xbeefc0de, offset: 24 };
/** Two pages of the smallest size. A shorter file is an unfinished new one and holds no entry. */
const shortestFile = 8_192;
/** More than LMDB needs to open a file, and enough to notice that a full disk has room again. */
const probeBytes = 262_144;

/** The disk has no room. The ingress can still forward what the journal holds. */
const fullDiskCodes: readonly unknown[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/**
 * Makes the folder, and checks whether LMDB can open its file: if it cannot, LMDB ends the process. Throws
 * `JournalUnwritable`, which names the setting.
 */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await tryToWrite(join(folder, 'probe'));
  } catch (error) {
    const isFull = fullDiskCodes.includes((error as NodeJS.ErrnoException).code);
    if (!isFull || !(await hasJournal(folder))) throw unusable(reasonOf(error));
  }
  await checkFile(join(folder, 'data.mdb'));
}

/** LMDB needs no room to open its two files if both exist. */
async function hasJournal(folder: string): Promise<boolean> {
  const sizeOf = async (name: string) => (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0;
  return (await sizeOf('data.mdb')) >= shortestFile && (await sizeOf('lock.mdb')) > 0;
}

async function tryToWrite(path: string): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.writeFile(Buffer.alloc(probeBytes));
    await file.sync();
  } finally {
    await file.close();
    await rm(path, { force: true });
  }
}

async function checkFile(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (!found || found.size === 0) return;
  if (found.size < shortestFile) return await rm(path);
  const file = await open(path, 'r+').catch((error: unknown) => {
    throw unusable(reasonOf(error));
  });
  try {
    const { buffer } = await file.read({ buffer: Buffer.alloc(magic.offset + 4), position: 0 });
    if (buffer.readUInt32LE(magic.offset) !== magic.value) throw unusable('data.mdb in it is not a journal');
  } finally {
    await file.close();
  }
}

const unusable = (why: string): JournalError =>
  new JournalError('JournalUnwritable', `FARETRAIL_JOURNAL_DIR: the folder cannot be used (${why})`);
