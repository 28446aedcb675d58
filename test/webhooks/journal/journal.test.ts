import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Delivery } from '../../../src/domain/delivery.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { JournalDisk, type JournalKey } from '../../../src/webhooks/journal/disk.js';
import { type Journal, type JournalEntry, openJournal } from '../../../src/webhooks/journal/journal.js';
import { aForwarder, recordedPort } from '../forward/port.js';
import { aDelivery, aFolder, aJournal, contentOf } from './folders.js';

const maxBytes = 2 ** 20;
const partner = toAccountName('partner');

it('a journal gives back what was appended, oldest first, also when the clock goes back and it was opened again', async () => {
  let now = 1_800_000_000_000;
  const options = { now: () => now, folder: await aFolder() };
  const deliveries = [
    aDelivery({ orderId: '1', status: 'Driving' }),
    aDelivery({ orderId: '12', uncheckedGeneration: 'g1', sealed: 'e30' }),
    aDelivery({ orderId: '1' }),
    aDelivery({ orderId: null, parkReason: 'noOrderId', sealed: 'e30' }),
    ...['é', '~'].map((orderId) => aDelivery({ orderId })),
  ];
  for (const delivery of deliveries) {
    const journal = await aJournal(options);
    await journal.append(delivery);
    await journal.close();
    now -= 60_000;
  }
  expect(contentOf(await aJournal(options))).toEqual(deliveries);
});

it('a reader that walks the keys of a journal in steps sees each once', async () => {
  const journal = await aJournal();
  const deliveries = ['a', null, '~', 'é', '\u{1F695}', '"', 'a', '11', '1'].map((orderId) => aDelivery({ orderId }));
  await Promise.all(deliveries.map((delivery) => journal.append(delivery)));
  for (const step of [1, 2, 5]) {
    const seen: JournalEntry[] = [];
    for (let keys = journal.keysAfter(0, step); keys.length > 0; keys = journal.keysAfter(keys.at(-1)?.[0] ?? 0, step))
      seen.push(...journal.read(keys));
    expect(seen.map(({ delivery }) => delivery)).toEqual(deliveries);
  }
});

it('a journal gives large deliveries in parts that memory can hold', async () => {
  const journal = await aJournal();
  for (let made = 0; made < 4; made += 1) await journal.append(aDelivery({ sealed: 'x'.repeat(200_000) }));
  expect(journal.read(journal.keysAfter(0, 4))).toHaveLength(2);
});

it('a journal says which entries are gone', async () => {
  const journal = await aJournal();
  for (let made = 0; made < 3; made += 1) await journal.append(aDelivery());
  const keys = journal.keysAfter(0, 3);
  await journal.remove(keys.slice(1, 2));
  expect(journal.read(keys).map(({ delivery }) => delivery === null)).toEqual([false, true, false]);
});

it('a journal knows how many entries it has and since when, also after it was opened again', async () => {
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

it('a journal announces a delivery once it can be read', async () => {
  const journal = await aJournal();
  const announced: (Delivery | null | undefined)[] = [];
  journal.onAppend((key) => announced.push(key === null ? null : journal.read([key])[0]?.delivery));
  const deliveries = [aDelivery(), aDelivery()];
  await Promise.all(deliveries.map((delivery) => journal.append(delivery)));
  expect(announced).toEqual(deliveries);
});

it('a full journal refuses deliveries, says so, and takes them again once some are removed', async () => {
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

it('a journal counts the bytes of large deliveries before they are on the disk', async () => {
  const journal = await aJournal({ maxBytes });
  const sealed = 'x'.repeat(100_000);
  const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => journal.append(aDelivery({ sealed }))));
  expect(attempts.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(10);
  expect(journal.bytes()).toBeLessThanOrEqual(maxBytes);
});

it.each([
  ['is short', ''],
  ['is longer than that of a socket may be', `${'a'.repeat(60)}/${'b'.repeat(60)}`],
])('a folder whose path %s has one journal at a time, and another one after that', async (_, below) => {
  const folder = join(await aFolder(), below);
  const journal = await aJournal({ folder });
  const another = () => openJournal({ folder, maxBytes });
  const message = expect.stringContaining('FARETRAIL_JOURNAL_DIR');
  await expect(another()).rejects.toMatchObject({ code: 'JournalInUse', message });
  await journal.close();
  await (await another()).close();
});

it('a journal whose lock cannot be asked counts as taken', async () => {
  const folder = await aFolder();
  await symlink('lock', join(folder, 'lock')); // names itself, so that a connect fails without a refusal
  await expect(openJournal({ folder, maxBytes })).rejects.toMatchObject({ code: 'JournalInUse' });
});

it('a journal whose folder cannot be used names the setting, and no path', async () => {
  const file = join(await aFolder(), 'file');
  await writeFile(file, '');
  await expect(openJournal({ folder: join(file, 'journal'), maxBytes })).rejects.toMatchObject({
    code: 'JournalUnwritable',
    message: 'FARETRAIL_JOURNAL_DIR: the folder cannot be used (ENOTDIR)',
  });
});

it('a file that is no journal is refused each time, and its folder stays free', async () => {
  const folder = join(await aFolder(), 'journal');
  await mkdir(folder);
  await writeFile(join(folder, 'data.mdb'), 'something else'.repeat(1_000));
  const attempt = () => openJournal({ folder, maxBytes });
  for (const _ of [1, 2]) await expect(attempt()).rejects.toMatchObject({ code: 'JournalUnwritable' });
});

it('a closed journal takes nothing', async () => {
  const journal = await aJournal();
  await journal.close();
  await expect(journal.append(aDelivery())).rejects.toMatchObject({ code: 'JournalUnwritable' });
  expect(journal.whyUnwritable()).toBe('closed');
});

/** The file alone, with what it tells the journal. */
async function aDisk(stallMs: number) {
  const folder = await aFolder();
  const told = { onPut: vi.fn(), onReopened: vi.fn() };
  const disk = await JournalDisk.open({ folder, maxBytes, stallMs, retryMs: 5, ...told });
  onTestFinished(() => disk.close());
  const key = (seq: number): JournalKey => [seq, toAccountName('business'), 'status_changed', ''];
  return { folder, disk, put: (seq: number) => disk.write({ put: key(seq), value: Buffer.from('{}') }), ...told };
}

it('a journal whose commit failed takes nothing until its file can be opened again, and then all', async () => {
  const { folder, disk, put, onReopened } = await aDisk(5_000);
  await mkdir(join(folder, 'probe')); // where the disk tries whether it can write
  vi.spyOn(disk.database(), 'batch').mockRejectedValueOnce(new Error('the disk failed'));
  const refusedFor = (why: string) => expect.objectContaining({ message: expect.stringContaining(why) });
  await expect(put(1)).rejects.toEqual(refusedFor('the disk failed'));
  await expect.poll(() => disk.whyUnwritable()).toContain('EISDIR');
  await expect(put(1)).rejects.toEqual(refusedFor('EISDIR'));
  expect(onReopened).not.toHaveBeenCalled();
  await rm(join(folder, 'probe'), { recursive: true });
  await expect.poll(() => disk.whyUnwritable()).toBe(null);
  expect(onReopened).toHaveBeenCalledOnce();
  await put(1);
  expect(disk.size().entries).toBe(1);
});

it('a journal whose disk does not answer refuses what waits, and takes deliveries again once that commit has ended', async () => {
  const { disk, put, onPut } = await aDisk(50);
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const { batch } = disk.database();
  vi.spyOn(disk.database(), 'batch').mockImplementationOnce(async (action) => {
    await answered;
    return await batch.call(disk.database(), action);
  });
  const waiting = Promise.allSettled([1, 2].map(put));
  const why = 'the disk does not answer';
  await expect.poll(() => disk.whyUnwritable()).toBe(why);
  const refused = { status: 'rejected', reason: { message: `the journal cannot be written: ${why}` } };
  expect(await waiting).toMatchObject([refused, refused]);
  await expect(put(3)).rejects.toMatchObject(refused.reason);
  expect(onPut).not.toHaveBeenCalled();
  answer();
  await expect.poll(() => disk.whyUnwritable()).toBeNull();
  await put(3);
  const seqs = onPut.mock.calls.map(([[seq]]) => seq);
  expect(seqs, 'what was refused may have reached the disk').toEqual([1, 2, 3]);
});

it('a body of several events that an ingress before 0.3.0 kept goes to a person, after its check', async () => {
  const journal = await aJournal();
  const later = { uncheckedGeneration: 'g1', uncheckedEvents: { businessId: 'b' }, sealed: 'e30' };
  const kept = (['status_changed', 'business_report'] as const).map((eventType) =>
    aDelivery({ orderId: null, eventType, ...later }),
  );
  for (const delivery of kept) await journal.append(delivery);
  const recorded = recordedPort();
  const checked: string[] = [];
  const check = async ({ deliveryId }: Delivery) => {
    checked.push(deliveryId);
    return null;
  };
  aForwarder({ journal, port: recorded.port, check });
  await expect.poll(() => journal.depth()).toBe(0);
  const ids = kept.map(({ deliveryId }) => deliveryId);
  expect([checked.sort(), recorded.delivered.sort()]).toEqual([ids, ids]);
  expect(recorded.calls.sort()).toEqual(ids.map((id) => `parked ambiguousBody: ${id}`));
});

/** Appends deliveries like this one until the journal refuses; their number. */
async function fillWith(journal: Journal, more: Parameters<typeof aDelivery>[0]): Promise<number> {
  for (let taken = 0; ; taken += 1) {
    const refused = await journal
      .append(aDelivery({ ...more, sealed: 'x'.repeat(8_000) }))
      .catch((error: unknown) => error);
    if (refused === undefined) continue;
    expect(refused).toMatchObject({ code: 'JournalFull' });
    return taken;
  }
}

it('an account fills at most as much of a shared journal as it leaves free, also after a restart', async () => {
  const shares = { isShared: true, hasProofs: false };
  const folder = await aFolder();
  const journal = await openJournal({ folder, maxBytes: 2 ** 22, shares });
  const first = await fillWith(journal, {});
  const bytes = journal.bytes();
  expect(bytes).toBeGreaterThan(0.4 * 2 ** 22);
  expect(bytes).toBeLessThan(0.55 * 2 ** 22);
  expect(journal.whyUnwritable()).toBeNull();
  await journal.close();

  const again = await aJournal({ folder, maxBytes: 2 ** 22, shares });
  await expect(again.append(aDelivery({ sealed: 'x'.repeat(8_000) }))).rejects.toMatchObject({ code: 'JournalFull' });
  expect(await fillWith(again, { account: partner })).toBeGreaterThan(0.4 * first);
  await again.remove(again.keysAfter(0, first));
  expect(await fillWith(again, {})).toBeGreaterThan(0.5 * first);
});

it('what has not proved itself leaves half of the share to what has', async () => {
  const journal = await aJournal({ maxBytes: 2 ** 22, shares: { isShared: false, hasProofs: true } });
  const forged = await fillWith(journal, {});
  const proven = await fillWith(journal, { isProven: true });
  expect(proven).toBeGreaterThan(0.8 * forged);
  expect(contentOf(journal).filter(({ isProven }) => isProven)).toHaveLength(proven);
});
