import type { DeliveryResult } from '../../domain/delivery.js';
import { FaretrailError } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import { companyReportId, followOrderId } from '../../domain/workflow-ids.js';
import type { DeliveryPort } from '../delivery-port.js';

/** What a delivery may start: the following of an order, or the run of a report. Each kind has places of its own, so that nobody who
 *  knows the address of one holds up the other. */
export type NewKind = 'newOrders' | 'newReports';

/** As many orders of an account as may start now have started and were not read yet, so that this delivery must wait. Not for an order
 *  that a run follows. */
export class TooManyNewOrders extends FaretrailError<'TooManyNewOrders'> {
  override readonly name = 'TooManyNewOrders';

  readonly held: NewKind;

  constructor(held: NewKind) {
    super('TooManyNewOrders', 'too many orders that deliveries named were not read yet');
    this.held = held;
  }
}

interface NewOrdersOptions {
  port: Pick<DeliveryPort, 'signalOrder' | 'toOrder' | 'isSettled' | 'signalReport' | 'toReport' | 'isReportSettled'>;
  /** The most of each kind of an account that deliveries have started and no read has found yet. */
  atOnce: number;
  now?: () => number;
}

/** Starts runs about orders that only a delivery names, few at a time: anyone who knows an address can invent order ids, and each
 *  costs reads. */
export interface NewOrders {
  /** As that of the port. Rejects with `TooManyNewOrders`. */
  toOrder: DeliveryPort['toOrder'];
  /** As that of the port. Rejects with `TooManyNewOrders`, but not for an order that is followed or was. */
  toReport: DeliveryPort['toReport'];
  /** How many more of the account may start now. */
  room: Readonly<Record<NewKind, (account: AccountName) => number>>;
}

/** A run that a delivery starts where there is none. */
interface NewRun {
  account: AccountName;
  workflowId: string;
  start(): Promise<DeliveryResult>;
  isSettled(): Promise<boolean>;
}

/** The runs of an account that this process has started. */
interface Started {
  /** By workflow id. */
  unread: Map<string, NewRun>;
  /** Those of them whose start has no answer yet. */
  starting: Set<string>;
  /** When it last asked their runs. */
  askedAt: number;
  asking: Promise<void>;
}

const askEveryMs = 1_000;

/** The same port, which starts few new orders at once; `atOnce` null: any number. */
export function limitNewOrders(
  port: DeliveryPort,
  atOnce: number | null,
): { port: DeliveryPort; roomForNew?: NewOrders['room'] } {
  if (atOnce === null) return { port };
  const { room, ...limited } = createNewOrders({ port, atOnce });
  return { port: { ...port, ...limited }, roomForNew: room };
}

/** See `NewOrders`. */
export function createNewOrders({ port, atOnce, now = Date.now }: NewOrdersOptions): NewOrders {
  const orders = createPlaces('newOrders', atOnce, now);
  const reports = createPlaces('newReports', atOnce, now);
  return {
    async toOrder(key, deliveries) {
      if (await port.signalOrder(key, deliveries)) return 'signalled';
      return await orders.start({
        account: key.account,
        workflowId: followOrderId(key),
        start: () => port.toOrder(key, deliveries),
        isSettled: () => port.isSettled(key),
      });
    },
    async toReport(key, deliveries) {
      if (await port.signalReport(key, deliveries)) return 'reported';
      return await reports.start({
        account: key.account,
        workflowId: companyReportId(key),
        start: () => port.toReport(key, deliveries),
        isSettled: () => port.isReportSettled(key),
      });
    },
    room: { newOrders: orders.room, newReports: reports.room },
  };
}

const startsRun: ReadonlySet<DeliveryResult> = new Set<DeliveryResult>(['started', 'reported']);

/** The places of one kind. Remembers in memory what it has started, so that after a restart as many may start again. */
function createPlaces(kind: NewKind, atOnce: number, now: () => number) {
  const accounts = new Map<AccountName, Started>();

  function startedOf(account: AccountName): Started {
    const held = accounts.get(account);
    if (held) return held;
    const started: Started = {
      ...{ unread: new Map(), starting: new Set() },
      ...{ askedAt: Number.NEGATIVE_INFINITY, asking: Promise.resolve() },
    };
    accounts.set(account, started);
    return started;
  }

  /** Forgets the runs whose order was read, and those that have ended. Asks at most once a second. */
  async function ask(started: Started): Promise<void> {
    if (now() - started.askedAt >= askEveryMs) {
      started.askedAt = now();
      const { unread, starting } = started;
      const look = async ({ workflowId, isSettled }: NewRun): Promise<void> => {
        if (await isSettled().catch(() => false)) unread.delete(workflowId);
      };
      // An order that is starting has no run yet, as has one that has ended.
      const begun = [...unread.values()].filter(({ workflowId }) => !starting.has(workflowId));
      started.asking = Promise.all(begun.map(look)).then(() => undefined);
    }
    await started.asking;
  }

  /** Takes a place in the same turn in which it finds one, since others wait for it, too. */
  async function start(run: NewRun): Promise<DeliveryResult> {
    const { account, workflowId } = run;
    const started = startedOf(account);
    const { unread, starting } = started;
    const isFull = (): boolean => unread.size >= atOnce && !unread.has(workflowId);
    if (isFull()) await ask(started);
    if (isFull()) throw new TooManyNewOrders(kind);
    const isNew = !unread.has(workflowId);
    unread.set(workflowId, run);
    starting.add(workflowId);
    // Where the answer is lost the run keeps its place: it may have started.
    const result = await run.start().finally(() => starting.delete(workflowId));
    if (isNew && !startsRun.has(result)) unread.delete(workflowId);
    return result;
  }

  return {
    start,
    room(account: AccountName): number {
      const started = startedOf(account);
      if (started.unread.size >= atOnce) void ask(started);
      return atOnce - started.unread.size;
    },
  };
}
