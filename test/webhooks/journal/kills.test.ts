import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isLong } from '../../support/long.js';
import { aFolder, aJournal } from './folders.js';
import { startJournalProcess } from './process.js';

const kills = isLong ? 100 : 20;

it('holds every acknowledged delivery after kills with -9 at random instants', async () => {
  const folder = await aFolder();
  const acknowledged: string[] = [];
  for (let round = 0; round < kills; round += 1) {
    // Each start meets the lock and the files that a killed process has left.
    const child = await startJournalProcess({ JOURNAL_FOLDER: folder, JOURNAL_ROUND: `${round}` });
    await expect.poll(() => child.lines().length, { timeout: 20_000, interval: 5 }).toBeGreaterThan(0);
    await sleep(100 * Math.random());
    await child.kill();
    acknowledged.push(...child.lines().map((line) => line.replace('kept ', '')));
  }
  const journal = await aJournal({ folder, maxBytes: 2 ** 30 });
  const kept = new Set<string>();
  for (let keys = journal.keysAfter(0, 100); keys.length > 0; keys = journal.keysAfter(0, 100)) {
    for (const { delivery } of journal.read(keys)) kept.add(delivery?.deliveryId ?? 'none');
    await journal.remove(keys);
  }
  expect(acknowledged.length).toBeGreaterThan(kills * 16);
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
  expect(journal.depth()).toBe(0);
}, 180_000);
