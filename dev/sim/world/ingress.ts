// The ingress from the journal on: the real forwarder with the real delivery port. HTTP and signatures are left out.
import { Client, type ConnectionLike } from '@temporalio/client';
import type { Delivery, DeliveryNotice } from '../../../src/domain/delivery.js';
import { createDeliveryPort } from '../../../src/temporal/deliveries.js';
import { createForwarder, type ForwarderOptions } from '../../../src/webhooks/forward/forwarder.js';
import type { JournalKey } from '../../../src/webhooks/journal/disk.js';
import { Process } from '../clock/process.js';
import type { Scheduler } from '../clock/scheduler.js';

export interface IngressParts {
  scheduler: Scheduler;
  taskQueue: string;
  connect: (process: Process) => ConnectionLike;
}

/** Milliseconds for a write to the disk. */
const diskMs = 3;
const entriesPerRead = 5_000;

export class Ingress {
  /** Deliveries that were acknowledged. */
  readonly acknowledged: { delivery: Delivery; at: number }[] = [];
  /** Ids of the deliveries that Temporal has taken. */
  readonly #taken = new Set<string>();
  /** How many more it has taken without their ids: of a flood, one delivery stands for several. */
  #represented = 0;
  readonly #parts: IngressParts;
  /** Outlives the process, like a disk. */
  readonly #journal = new Map<number, { key: JournalKey; delivery: Delivery }>();
  #process: Process | null = null;
  #onAppend: (key: JournalKey | null) => void = () => undefined;
  #seq = 0;
  #started = 0;

  constructor(parts: IngressParts) {
    this.#parts = parts;
    this.#start();
  }

  /** Deliveries that Temporal does not have yet. */
  get waiting(): number {
    return this.#journal.size;
  }

  /** Ids of acknowledged deliveries that are neither in Temporal nor in the journal. */
  get lost(): string[] {
    const held = new Set([...this.#journal.values()].map(({ delivery }) => delivery.deliveryId));
    const missing = this.acknowledged.flatMap(({ delivery: { deliveryId } }) =>
      this.#taken.has(deliveryId) || held.has(deliveryId) ? [] : [deliveryId],
    );
    return missing.length > this.#represented ? missing : [];
  }

  /** A delivery arrives. The service does not repeat one that is not acknowledged. */
  receive(delivery: Delivery): void {
    const process = this.#process;
    process?.after(diskMs, () => {
      this.#seq += 1;
      const key: JournalKey = [this.#seq, delivery.account, delivery.eventType, delivery.orderId ?? ''];
      this.#journal.set(this.#seq, { key, delivery });
      this.acknowledged.push({ delivery, at: this.#parts.scheduler.now });
      this.#onAppend(key);
    });
  }

  /** Kills the process. Another one starts after `restMs`. Returns false if there is none. */
  kill(restMs: number): boolean {
    if (!this.#process) return false;
    this.#process.kill();
    this.#process = null;
    this.#onAppend = () => undefined;
    this.#parts.scheduler.after(restMs, () => this.#start());
    return true;
  }

  #start(): void {
    const { scheduler, taskQueue, connect } = this.#parts;
    this.#started += 1;
    const process = new Process(`ingress-${this.#started}`, scheduler);
    this.#process = process;
    const note = (deliveries: readonly DeliveryNotice[]): void => {
      for (const { deliveryId, standsFor = 1 } of deliveries) {
        this.#taken.add(deliveryId);
        this.#represented += standsFor - 1;
      }
    };
    process.enter(() => {
      const client = new Client({ connection: connect(process), identity: process.name });
      const { toRun, park } = createDeliveryPort({ client, taskQueue, untracked: () => 'follow' });
      const forwarder = createForwarder({
        journal: this.#openJournal(process),
        port: {
          async toRun(about, deliveries) {
            const result = await toRun(about, deliveries);
            note(deliveries);
            return result;
          },
          park,
        },
        check: async () => null,
      });
      forwarder.start();
    });
  }

  #openJournal(process: Process): ForwarderOptions['journal'] {
    const entries = this.#journal;
    return {
      keysAfter: (seq, limit) =>
        [...entries.values()].flatMap(({ key }) => (key[0] > seq ? [key] : [])).slice(0, limit),
      read: (keys) =>
        keys.slice(0, entriesPerRead).map((key) => ({ key, delivery: entries.get(key[0])?.delivery ?? null })),
      remove: (keys) =>
        new Promise((resolve) => {
          process.after(diskMs, () => {
            for (const [seq] of keys) entries.delete(seq);
            resolve();
          });
        }),
      onAppend: (listener) => {
        this.#onAppend = listener;
      },
    };
  }
}
