import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JournaledDelivery } from '../../../src/webhooks/journal/entries.js';
import type { JournalEntry } from '../../../src/webhooks/journal/journal.js';
import { openJournal } from '../../../src/webhooks/journal/journal.js';
import { aDelivery, aFolder, aJournal, contentOf } from './folders.js';

describe('a journal', () => {
  it('gives back what was appended, after it was closed and opened again', async () => {
    const first = await aJournal();
    const deliveries = [
      aDelivery({ status: 'Driving' }),
      aDelivery({ orderId: null, parkReason: 'noOrderId', sealed: 'e30' }),
      aDelivery({ uncheckedGeneration: 'g1', sealed: 'e30' }),
    ];
    for (const delivery of deliveries) await first.append(delivery);
    await first.close();
    const second = await aJournal({ folder: first.folder });
    expect(contentOf(second)).toEqual(deliveries);
    expect(second.depth()).toBe(3);
  });

  it('gives its keys in the order of arrival, also when the clock goes back and it was opened again', async () => {
    let now = 1_800_000_000_000;
    const options = { now: () => now, folder: await aFolder() };
    const deliveries = ['1', '12', '1', 'é', '~'].map((orderId) => aDelivery({ orderId }));
    for (const delivery of deliveries) {
      const journal = await aJournal(options);
      await journal.append(delivery);
      await journal.close();
      now -= 60_000;
    }
    expect(contentOf(await aJournal(options))).toEqual(deliveries);
  });

  it('walks its keys in steps and sees each once', async () => {
    const unit = fc.constantFrom('a', '1', '~', 'é', '\u{1F695}', '"');
    const orderIds = fc.array(fc.option(fc.string({ minLength: 1, maxLength: 6, unit })), { maxLength: 30 });
    const walk = fc.asyncProperty(orderIds, fc.integer({ min: 1, max: 5 }), async (ids, step) => {
      const journal = await openJournal({ folder: await aFolder(), maxBytes: 2 ** 24 });
      const deliveries = ids.map((id) => aDelivery({ orderId: id }));
      await Promise.all(deliveries.map((delivery) => journal.append(delivery)));
      const seen: JournalEntry[] = [];
      for (let keys = journal.keysAfter(0, step); keys.length > 0; ) {
        seen.push(...journal.read(keys));
        keys = journal.keysAfter(keys.at(-1)?.[0] ?? 0, step);
      }
      await journal.close();
      expect(seen.map(({ delivery }) => delivery)).toEqual(deliveries);
    });
    await fc.assert(walk, { numRuns: 30 });
  });

  it('gives large deliveries in parts that memory can hold', async () => {
    const journal = await aJournal();
    for (let made = 0; made < 4; made += 1) await journal.append(aDelivery({ sealed: 'x'.repeat(200_000) }));
    expect(journal.read(journal.keysAfter(0, 4))).toHaveLength(2);
  });

  it('says which entries are gone', async () => {
    const journal = await aJournal();
    for (let made = 0; made < 3; made += 1) await journal.append(aDelivery());
    const keys = journal.keysAfter(0, 3);
    await journal.remove(keys.slice(1, 2));
    expect(journal.read(keys).map(({ delivery }) => delivery === null)).toEqual([false, true, false]);
  });

  it('knows how many entries it has and since when, also after it was opened again', async () => {
    let now = Date.parse('2026-05-01T08:00:00.500Z');
    const options = { now: () => now };
    const journal = await aJournal(options);
    expect([journal.depth(), journal.oldestAt()]).toEqual([0, null]);
    for (let made = 0; made < 3; made += 1) {
      await journal.append(aDelivery({ orderId: `${made}` }));
      now += 60_000;
    }
    await journal.close();
    const again = await aJournal({ ...options, folder: journal.folder });
    expect([again.depth(), again.oldestAt()]).toEqual([3, Date.parse('2026-05-01T08:00:00.500Z')]);
    await again.remove(again.keysAfter(0, 1));
    expect([again.depth(), again.oldestAt()]).toEqual([2, Date.parse('2026-05-01T08:01:00.500Z')]);
  });

  it('tells of a delivery once it can be read', async () => {
    const journal = await aJournal();
    const told: (JournaledDelivery | null | undefined)[] = [];
    journal.onAppend((key) => told.push(key === null ? null : journal.read([key])[0]?.delivery));
    const deliveries = [aDelivery(), aDelivery()];
    await Promise.all(deliveries.map((delivery) => journal.append(delivery)));
    expect(told).toEqual(deliveries);
  });
});

describe('a bounded journal', () => {
  const maxBytes = 2 ** 20;

  it('refuses what it has no room for, says so, and takes deliveries again once some are removed', async () => {
    const journal = await aJournal({ maxBytes });
    let taken = 0;
    const fill = async () => {
      for (; taken < 100_000; taken += 50)
        await Promise.all(Array.from({ length: 50 }, (_, n) => journal.append(aDelivery({ orderId: `${taken + n}` }))));
    };
    await expect(fill()).rejects.toMatchObject({ code: 'JournalFull' });
    expect(taken).toBeGreaterThan(1_000);
    expect(journal.bytes()).toBeLessThanOrEqual(maxBytes);
    expect(journal.whyUnwritable()).toBe('the journal is full');

    // Removing must work in a full journal.
    await journal.remove(journal.keysAfter(0, 1_000));
    expect(journal.whyUnwritable()).toBeNull();
    await journal.append(aDelivery());
  });

  it('counts what large deliveries take before they are on the disk', async () => {
    const journal = await aJournal({ maxBytes });
    const sealed = 'x'.repeat(100_000);
    const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => journal.append(aDelivery({ sealed }))));
    expect(attempts.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(10);
    expect(journal.bytes()).toBeLessThanOrEqual(maxBytes);
  });
});

describe('opening a journal', () => {
  it('is refused while another has it, and works again after that', async () => {
    const journal = await aJournal();
    const another = () => openJournal({ folder: journal.folder, maxBytes: 2 ** 20 });
    const message = expect.stringContaining('FARETRAIL_JOURNAL_DIR');
    await expect(another()).rejects.toMatchObject({ code: 'JournalInUse', message });
    await journal.close();
    await (await another()).close();
  });

  it('works in a folder whose path is longer than a socket may have', async () => {
    const folder = join(await aFolder(), 'a'.repeat(60), 'b'.repeat(60));
    const journal = await aJournal({ folder });
    await journal.append(aDelivery());
    await expect(openJournal({ folder, maxBytes: 2 ** 20 })).rejects.toMatchObject({ code: 'JournalInUse' });
  });

  it('names the setting, and no path, when the folder cannot be used', async () => {
    const file = join(await aFolder(), 'file');
    await writeFile(file, '');
    const attempt = openJournal({ folder: join(file, 'journal'), maxBytes: 2 ** 20 });
    await expect(attempt).rejects.toMatchObject({
      code: 'JournalUnwritable',
      message: 'FARETRAIL_JOURNAL_DIR: the folder cannot be used (ENOTDIR)',
    });
  });

  it('refuses a file that is no journal, and lets go of the folder', async () => {
    const folder = join(await aFolder(), 'journal');
    await mkdir(folder);
    await writeFile(join(folder, 'data.mdb'), 'something else'.repeat(1_000));
    const attempt = () => openJournal({ folder, maxBytes: 2 ** 20 });
    for (const _ of [1, 2]) await expect(attempt()).rejects.toMatchObject({ code: 'JournalUnwritable' });
  });
});

it('a closed journal takes nothing', async () => {
  const journal = await aJournal();
  await journal.close();
  await expect(journal.append(aDelivery())).rejects.toMatchObject({ code: 'JournalUnwritable' });
  expect(journal.whyUnwritable()).toBe('closed');
});
