import { FaretrailError } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import type { DeliveryPort } from '../delivery-port.js';

/** As many deliveries of the account as may be parked wait for a person, so this one cannot be parked now. */
export class TooManyParked extends FaretrailError<'TooManyParked'> {
  override readonly name = 'TooManyParked';

  constructor() {
    super('TooManyParked', 'too many parked deliveries of the account wait for a person');
  }
}

interface ParkedShareOptions {
  port: Pick<DeliveryPort, 'park' | 'countParked'>;
  /** The most deliveries of an account that may wait for a person. */
  atMost: number;
  now?: () => number;
}

/** Parks so many deliveries of an account, and then no more: anyone who knows an address can send what has no place. */
export interface ParkedShare {
  /** As that of the port. Rejects with `TooManyParked`. */
  park: DeliveryPort['park'];
  /** How many more deliveries of the account may be parked. Any number before the first. */
  roomToPark(account: AccountName): number;
}

/** The parked deliveries of an account. */
interface Waiting {
  /** By the last count. */
  counted: number;
  /** Parked by this process since that count began. */
  since: number;
  countedAt: number;
  counting: Promise<void>;
}

/** Visibility takes ten calls a second for a whole namespace. Meanwhile other processes may park some more. */
const countEveryMs = 10_000;

/** The same port, which parks few deliveries; `atMost` null: any number. */
export function limitParked(
  port: DeliveryPort,
  atMost: number | null,
): { port: DeliveryPort; roomToPark?: ParkedShare['roomToPark'] } {
  if (atMost === null) return { port };
  const { park, roomToPark } = createParkedShare({ port, atMost });
  return { port: { ...port, park }, roomToPark };
}

/** See `ParkedShare`. A failed count leaves the one before in force. */
export function createParkedShare({ port, atMost, now = Date.now }: ParkedShareOptions): ParkedShare {
  const accounts = new Map<AccountName, Waiting>();

  async function count(account: AccountName, waiting: Waiting): Promise<void> {
    const { since } = waiting;
    waiting.countedAt = now();
    const counted = await port.countParked(account).catch(() => null);
    if (counted === null) return;
    waiting.counted = counted;
    waiting.since -= since;
  }

  /** Counts anew at most every ten seconds. */
  function countedOf(account: AccountName): Waiting {
    const held = accounts.get(account);
    const waiting = held ?? { counted: 0, since: 0, countedAt: Number.NEGATIVE_INFINITY, counting: Promise.resolve() };
    if (!held) accounts.set(account, waiting);
    if (now() - waiting.countedAt >= countEveryMs) waiting.counting = count(account, waiting);
    return waiting;
  }

  const roomOf = ({ counted, since }: Waiting): number => atMost - counted - since;

  return {
    async park(delivery) {
      const waiting = countedOf(delivery.account);
      await waiting.counting;
      if (roomOf(waiting) <= 0) throw new TooManyParked();
      waiting.since += 1;
      try {
        await port.park(delivery);
      } catch (error) {
        waiting.since -= 1;
        throw error;
      }
    },
    roomToPark(account) {
      const waiting = accounts.get(account);
      if (!waiting) return Number.POSITIVE_INFINITY;
      return roomOf(roomOf(waiting) > 0 ? waiting : countedOf(account));
    },
  };
}
