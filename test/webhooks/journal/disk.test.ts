import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { aFolder, aJournal, contentOf } from './folders.js';
import { startJournalProcess } from './process.js';

// A bound on the size of files stands for a full disk: the system refuses the same write, and lets go of it while the
// process runs. Only Linux can do that.
const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;
const isKept = (line: string) => line.startsWith('kept ');
const bounded = (kib: number) => ['bash', '-c', `trap '' XFSZ; ulimit -S -f ${kib}; exec "$@"`, '-'];

describe.skipIf(!hasPrlimit)('a journal on a disk without room', () => {
  it('refuses, says why, and takes deliveries again by itself once there is room', async () => {
    const folder = await aFolder();
    const child = await startJournalProcess({ JOURNAL_FOLDER: folder }, bounded(8_192));
    const refused = () => child.lines().filter((line) => line.startsWith('refused JournalUnwritable; '));
    await expect.poll(() => refused().length, { timeout: 50_000 }).toBeGreaterThan(16);
    expect(refused().at(-1)).toContain('EFBIG');

    const before = child.lines().length;
    spawnSync('prlimit', ['--pid', `${child.pid}`, '--fsize=unlimited']);
    const keptSince = (since: number) => child.lines().slice(since).filter(isKept);
    await expect.poll(() => keptSince(before).length, { timeout: 50_000 }).toBeGreaterThan(1_000);
    await child.kill();

    const journal = await aJournal({ folder, maxBytes: 2 ** 30 });
    const kept = new Set(contentOf(journal).map(({ deliveryId }) => `kept ${deliveryId}`));
    const first = keptSince(0).slice(0, 2_000);
    expect(first.filter((line) => !kept.has(line))).toEqual([]);
  }, 150_000);

  it('still lets go of what was forwarded, and takes as much again', async () => {
    const env = { JOURNAL_FOLDER: await aFolder(), JOURNAL_DRAIN: 'true' };
    const child = await startJournalProcess(env, bounded(8_192));
    const counted = (word: string) => child.lines().filter((line) => line.startsWith(word)).length;
    await expect.poll(() => counted('removed '), { timeout: 50_000 }).toBeGreaterThan(16);
    const before = counted('kept ');
    await expect.poll(() => counted('kept '), { timeout: 50_000 }).toBeGreaterThan(before + 1_000);
  }, 150_000);
});
