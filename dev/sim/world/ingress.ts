// The ingress without its sockets: the real intake and the real forwarder, with a simulated journal between them.
import { Client, type ConnectionLike } from '@temporalio/client';
import type { WorkerConfig } from '../../../src/config.js';
import type { Delivery, DeliveryNotice } from '../../../src/domain/delivery.js';
import { createDeliveryPort } from '../../../src/temporal/deliveries.js';
import { createForwarder, type ForwarderOptions } from '../../../src/webhooks/forward/forwarder.js';
import { createDirectForwarding, createStarts, limitsOf, type Starts } from '../../../src/webhooks/forward/routing.js';
import type { IntakeAnswer } from '../../../src/webhooks/intake.js';
import type { JournalKey } from '../../../src/webhooks/journal/disk.js';
import type { DeliveryMessage } from '../../sandbox/delivery/writer.js';
import { Process } from '../clock/process.js';
import type { Scheduler } from '../clock/scheduler.js';
import { createIntakeOf, type Intake } from './intake.js';

export interface IngressParts {
  scheduler: Scheduler;
  config: WorkerConfig;
  connect: (process: Process) => ConnectionLike;
  onProblem: (problem: string) => void;
}

/** Milliseconds for a write to the disk. */
const diskMs = 3;
const entriesPerRead = 5_000;

export class Ingress {
  /** Deliveries that are in the journal or were there. */
  readonly acknowledged: { delivery: Delivery; at: number }[] = [];
  /** Ids of the deliveries that wait for a person, or did. */
  readonly parked = new Set<string>();
  /** Ids of the deliveries that Temporal has taken. */
  readonly #taken = new Set<string>();
  /** How many more it has taken without their ids: of a flood, one delivery stands for several. */
  #represented = 0;
  readonly #parts: IngressParts;
  /** Outlives the process, like a disk. */
  readonly #journal = new Map<number, { key: JournalKey; delivery: Delivery }>();
  #process: Process | null = null;
  #intake: Intake | null = null;
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

  /** A delivery arrives that the intake admits. The service does not repeat one that is not acknowledged. */
  receive(delivery: Delivery): void {
    const process = this.#process;
    if (process) void this.#append(process, delivery);
  }

  /** A request arrives, signature and all. Calls `answered` with the answer, or never if the process dies. */
  request(message: DeliveryMessage, answered: (answer: IntakeAnswer) => void): void {
    const intake = this.#intake;
    this.#process?.enter(() => void intake?.take(message).then(answered));
  }

  get isUp(): boolean {
    return this.#process !== null;
  }

  /** Kills the process. Another one starts after `restMs`. Returns false if there is none. */
  kill(restMs: number): boolean {
    if (!this.#process) return false;
    this.#process.kill();
    this.#process = null;
    this.#intake = null;
    this.#onAppend = () => undefined;
    this.#parts.scheduler.after(restMs, () => this.#start());
    return true;
  }

  #start(): void {
    const { scheduler, connect } = this.#parts;
    this.#started += 1;
    const process = new Process(`ingress-${this.#started}`, scheduler);
    this.#process = process;
    process.enter(() => this.#assemble(process, connect(process)));
  }

  #assemble(process: Process, connection: ConnectionLike): void {
    const { config, onProblem } = this.#parts;
    const { taskQueue, accounts } = config;
    const client = new Client({ connection, identity: process.name });
    const untracked = (account: string) => accounts.find(({ name }) => name === account)?.untracked ?? 'ignore';
    const port = createDeliveryPort({ client, taskQueue, untracked });
    const starts = createStarts({ port, ...limitsOf(config), hasProofs: false });
    const keep = (delivery: Delivery): Promise<void> =>
      forwarder.hasRoomFor(delivery) ? this.#append(process, delivery) : forward(delivery);
    const onFailure = (error: unknown): void => onProblem(`${process.name} failed a request: ${error}`);
    this.#intake = createIntakeOf({ config, port, keep, onFailure });
    const routing = { port: this.#noting(starts), check: this.#intake?.check ?? (async () => null) };
    const forward = createDirectForwarding(routing);
    const forwarder = createForwarder({ ...routing, journal: this.#openJournal(process), room: starts.room });
    forwarder.start();
  }

  /** Notes the deliveries that Temporal takes. */
  #noting({ toRun, park }: Starts): Pick<Starts, 'toRun' | 'park'> {
    const note = (deliveries: readonly Pick<DeliveryNotice, 'deliveryId' | 'standsFor'>[]): void => {
      for (const { deliveryId, standsFor = 1 } of deliveries) {
        this.#taken.add(deliveryId);
        this.#represented += standsFor - 1;
      }
    };
    const { parked } = this;
    return {
      async toRun(about, deliveries) {
        const result = await toRun(about, deliveries);
        note(deliveries);
        return result;
      },
      async park(delivery) {
        await park(delivery);
        note([delivery]);
        parked.add(delivery.deliveryId);
      },
    };
  }

  #append(process: Process, delivery: Delivery): Promise<void> {
    return new Promise((resolve) => {
      process.after(diskMs, () => {
        this.#seq += 1;
        const key: JournalKey = [this.#seq, delivery.account, delivery.eventType, delivery.orderId ?? ''];
        this.#journal.set(this.#seq, { key, delivery });
        this.acknowledged.push({ delivery, at: this.#parts.scheduler.now });
        this.#onAppend(key);
        resolve();
      });
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
      heldOf: (account) => {
        const held = [...entries.values()].filter(({ key }) => key[1] === account);
        const toPark = held.filter(({ delivery }) => delivery.parkReason !== undefined).length;
        return { toPark, unproven: held.length - toPark };
      },
    };
  }
}
