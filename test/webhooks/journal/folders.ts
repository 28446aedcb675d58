import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Delivery } from '../../../src/domain/delivery.js';
import { type DeliveryId, toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { type Journal, type JournalOptions, openJournal } from '../../../src/webhooks/journal/journal.js';

/** A folder that is gone after the test. */
export async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'faretrail-journal-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A journal that is closed after the test. */
export async function aJournal(options: Partial<JournalOptions> = {}): Promise<Journal & { folder: string }> {
  const folder = options.folder ?? (await aFolder());
  const journal = await openJournal({ maxBytes: 2 ** 26, retryMs: 20, ...options, folder });
  onTestFinished(() => journal.close());
  return { ...journal, folder };
}

interface DeliveryParts extends Partial<Omit<Delivery, 'orderId' | 'deliveryId'>> {
  orderId?: string | null;
  deliveryId?: string;
}

let made = 0;

/** A delivery unlike any other; `orderId: null` for one without. */
export function aDelivery(more: DeliveryParts = {}): Delivery {
  made += 1;
  const { orderId = '42', deliveryId = made.toString(16).padStart(32, '0'), ...rest } = more;
  return {
    account: toAccountName('business'),
    eventType: 'status_changed',
    orderId: orderId === null ? null : toOrderId(orderId),
    deliveryId: deliveryId as DeliveryId,
    receivedAt: '2026-05-01T08:00:00.000Z',
    ...rest,
  };
}

/** All that the journal holds, oldest first. */
export const contentOf = (journal: Pick<Journal, 'keysAfter' | 'read'>): Delivery[] =>
  journal.keysAfter(0, 1_000_000).flatMap((key) => journal.read([key])[0]?.delivery ?? []);
