import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { type DeliveryId, toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { openJournal } from '../../../src/webhooks/journal/journal.js';

// Appends without end, sixteen at a time, and prints the id of each delivery once the journal has acknowledged it. With
// JOURNAL_DRAIN=true it removes the oldest ones when the journal refuses one, with JOURNAL_DRAIN=first before it appends.
const { JOURNAL_FOLDER: folder = '', JOURNAL_DRAIN: drains } = process.env;
const journal = await openJournal({ folder, maxBytes: 2 ** 30, retryMs: 50 });
const say = (line: string) => writeSync(1, `${line}\n`);
let made = 0;

async function drainSome(): Promise<void> {
  const keys = journal.keysAfter(0, 100);
  if (keys.length === 0) return;
  await journal.remove(keys);
  say(`removed ${keys.length}`);
}

async function appendForEver(): Promise<never> {
  for (;;) {
    made += 1;
    const deliveryId = randomUUID() as string as DeliveryId;
    const orderId = toOrderId(`${made % 50}`);
    const delivery = { account: toAccountName('business'), eventType: 'status_changed' as const, orderId, deliveryId };
    try {
      await journal.append({ ...delivery, receivedAt: new Date().toISOString() });
      say(`kept ${deliveryId}`);
    } catch (error) {
      say(`refused ${(error as { code?: string }).code}; ${journal.whyUnwritable()}`);
      if (drains === 'true') await drainSome();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

async function drainFirst(): Promise<void> {
  try {
    await drainSome();
  } catch (error) {
    say(`unmoved ${(error as Error).message}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
    return await drainFirst();
  }
}

if (drains === 'first') await drainFirst();
await Promise.all(Array.from({ length: 16 }, appendForEver));
