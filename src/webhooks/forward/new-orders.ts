import { FaretrailError } from '../../domain/errors.js';
import type { AccountName, OrderId } from '../../domain/keys.js';
import type { FollowOrderKey } from '../../domain/workflow-ids.js';
import type { DeliveryPort } from '../delivery-port.js';

/** As many orders of an account as may start now have started and were not read yet, so that this delivery must wait. Not for an order
 *  that a run follows. */
export class TooManyNewOrders extends FaretrailError<'TooManyNewOrders'> {
  override readonly name = 'TooManyNewOrders';

  constructor() {
    super('TooManyNewOrders', 'too many orders that deliveries named were not read yet');
  }
}

interface NewOrdersOptions {
  port: Pick<DeliveryPort, 'signalOrder' | 'toOrder' | 'isSettled'>;
  /** The most orders of an account that deliveries have started and no read has found yet. */
  atOnce: number;
  now?: () => number;
}

/** Starts orders that only a delivery names, few at a time: anyone who knows an address can invent order ids, and each costs reads. */
export interface NewOrders {
  /** As that of the port. Rejects with `TooManyNewOrders`. */
  toOrder: DeliveryPort['toOrder'];
  /** How many more orders of the account may start now. */
  room(account: AccountName): number;
}

/** The orders of an account that this process has started. */
interface Started {
  unread: Set<OrderId>;
  /** Those of them whose start has no answer yet. */
  starting: Set<OrderId>;
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
  const { toOrder, room } = createNewOrders({ port, atOnce });
  return { port: { ...port, toOrder }, roomForNew: room };
}

/** Remembers in memory which orders it has started, so that after a restart as many may start again. */
export function createNewOrders({ port, atOnce, now = Date.now }: NewOrdersOptions): NewOrders {
  const accounts = new Map<AccountName, Started>();

  function startedOf(account: AccountName): Started {
    const held = accounts.get(account);
    if (held) return held;
    const started: Started = {
      ...{ unread: new Set(), starting: new Set() },
      ...{ askedAt: Number.NEGATIVE_INFINITY, asking: Promise.resolve() },
    };
    accounts.set(account, started);
    return started;
  }

  /** Forgets the orders that were read, and those whose run has ended. Asks at most once a second. */
  async function ask(account: AccountName, started: Started): Promise<void> {
    if (now() - started.askedAt >= askEveryMs) {
      started.askedAt = now();
      const look = async (orderId: OrderId): Promise<void> => {
        if (await port.isSettled({ account, orderId }).catch(() => false)) started.unread.delete(orderId);
      };
      // An order that is starting has no run yet, as has one that has ended.
      const { unread, starting } = started;
      started.asking = Promise.all([...unread].filter((id) => !starting.has(id)).map(look)).then(() => undefined);
    }
    await started.asking;
  }

  /** Takes a place in the same turn in which it finds one, since others wait for it, too. */
  async function admit({ account, orderId }: FollowOrderKey): Promise<Started & { isNew: boolean }> {
    const started = startedOf(account);
    const { unread } = started;
    const isFull = (): boolean => unread.size >= atOnce && !unread.has(orderId);
    if (isFull()) await ask(account, started);
    if (isFull()) throw new TooManyNewOrders();
    const isNew = !unread.has(orderId);
    unread.add(orderId);
    started.starting.add(orderId);
    return { ...started, isNew };
  }

  return {
    async toOrder(key, deliveries) {
      if (await port.signalOrder(key, deliveries)) return 'signalled';
      const { orderId } = key;
      const { unread, starting, isNew } = await admit(key);
      // Where the answer is lost the order keeps its place: the run may have started.
      const result = await port.toOrder(key, deliveries).finally(() => starting.delete(orderId));
      if (isNew && result !== 'started') unread.delete(orderId);
      return result;
    },
    room(account) {
      const started = startedOf(account);
      if (started.unread.size >= atOnce) void ask(account, started);
      return atOnce - started.unread.size;
    },
  };
}
