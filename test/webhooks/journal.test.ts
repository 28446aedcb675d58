import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openJournal } from '../../src/webhooks/journal.js';
import { aDelivery, aFolder, aJournal, contentOf } from './journal-folders.js';

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
    expect(contentOf(second)).toEqual([[deliveries[1]], [deliveries[0], deliveries[2]]]);
    expect(second.depth()).toBe(3);
  });

  it('gives the deliveries of an order together and in their order, whatever came between, and the clock goes back', async () => {
    let now = 1_800_000_000_000;
    const journal = await aJournal({ now: () => now });
    const about = (orderId: string) => aDelivery({ orderId });
    const deliveries = ['1', '12', '1', '2', '1'].map(about);
    for (const delivery of deliveries) {
      await journal.append(delivery);
      now -= 60_000;
    }
    const at = (...places: number[]) => places.map((place) => deliveries[place]);
    expect(contentOf(journal)).toEqual([at(0, 2, 4), at(1), at(3)]);
  });

  it('walks its groups in steps and sees each once', async () => {
    const orderId = fc.string({
      minLength: 1,
      maxLength: 6,
      unit: fc.constantFrom('a', '1', '~', 'é', '\u{1F695}', '"'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.option(orderId), { maxLength: 30 }),
        fc.integer({ min: 1, max: 5 }),
        async (ids, step) => {
          const folder = await aFolder();
          const journal = await openJournal({ folder, maxBytes: 2 ** 24 });
          const deliveries = ids.map((id) => aDelivery({ orderId: id }));
          await Promise.all(deliveries.map((delivery) => journal.append(delivery)));
          const seen: string[] = [];
          for (let groups = journal.groupsAfter(null, step); groups.length > 0; ) {
            for (const group of groups)
              seen.push(...journal.readGroup(group).entries.map((one) => one.delivery.deliveryId));
            groups = journal.groupsAfter(groups.at(-1) ?? null, step);
          }
          await journal.close();
          expect(seen.sort()).toEqual(deliveries.map(({ deliveryId }) => deliveryId).sort());
        },
      ),
      { numRuns: 30 },
    );
  });

  it('gives a long group in parts', async () => {
    const journal = await aJournal();
    await Promise.all(Array.from({ length: 1_001 }, () => journal.append(aDelivery())));
    const [group] = journal.groupsAfter(null, 2);
    if (!group) throw new Error('no group');
    const part = journal.readGroup(group);
    expect([part.entries.length, part.hasMore]).toEqual([1_000, true]);
    await journal.remove(part.entries.map(({ key }) => key));
    expect(journal.readGroup(group)).toMatchObject({ entries: { length: 1 }, hasMore: false });
  });

  it('gives large deliveries in parts that memory can hold', async () => {
    const journal = await aJournal();
    for (let made = 0; made < 4; made += 1) await journal.append(aDelivery({ sealed: 'x'.repeat(200_000) }));
    const [group] = journal.groupsAfter(null, 1);
    if (!group) throw new Error('no group');
    expect(journal.readGroup(group)).toMatchObject({ entries: { length: 2 }, hasMore: true });
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
    expect([again.depth(), again.oldestAt()]).toEqual([3, Date.parse('2026-05-01T08:00:00Z')]);
    const [oldest] = again.groupsAfter(null, 1);
    if (!oldest) throw new Error('no group');
    await again.remove(again.readGroup(oldest).entries.map(({ key }) => key));
    expect([again.depth(), again.oldestAt()]).toEqual([2, Date.parse('2026-05-01T08:01:00Z')]);
  });

  it('tells of a delivery once it can be read', async () => {
    const journal = await aJournal();
    const readable: number[] = [];
    journal.onAppend((group) => readable.push(group === null ? 0 : journal.readGroup(group).entries.length));
    await Promise.all([journal.append(aDelivery()), journal.append(aDelivery())]);
    expect(readable.at(-1)).toBe(2);
    expect(readable).not.toContain(0);
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
    const keys = journal.groupsAfter(null, 1_000).flatMap((id) => journal.readGroup(id).entries.map(({ key }) => key));
    await journal.remove(keys);
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
    await expect(another()).rejects.toMatchObject({
      code: 'JournalInUse',
      message: expect.stringContaining('FARETRAIL_JOURNAL_DIR'),
    });
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
    for (const attempt of [1, 2])
      await expect(openJournal({ folder, maxBytes: 2 ** 20 }), `attempt ${attempt}`).rejects.toMatchObject({
        code: 'JournalUnwritable',
      });
  });
});

describe('a closed journal', () => {
  it('takes nothing', async () => {
    const journal = await aJournal();
    await journal.close();
    await expect(journal.append(aDelivery())).rejects.toMatchObject({ code: 'JournalUnwritable' });
    expect(journal.whyUnwritable()).toBe('closed');
  });
});
