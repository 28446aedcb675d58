import type { Delivery } from '../../domain/delivery.js';
import type { AccountName } from '../../domain/keys.js';

export interface JournalSharesOptions {
  /** Are there several accounts, so that each must leave room for the others? */
  isShared: boolean;
  /** Can deliveries prove themselves, so that the others must leave room for those that do? */
  hasProofs: boolean;
}

type Sharer = Pick<Delivery, 'account' | 'parkReason'> & { isProven?: boolean };

/** How many deliveries of an account are in a journal. */
export interface HeldDeliveries {
  /** Those that are to be parked. */
  toPark: number;
  /** Others that have not proved themselves. */
  unproven: number;
}

interface Held extends HeldDeliveries {
  provenBytes: number;
  otherBytes: number;
}

/**
 * The shares of a journal: an account may fill as much as it leaves free, so one account alone gets half and two get a third each, and
 * there is always room for another. Within its share the same holds for deliveries that have not proved themselves. In bytes.
 */
export function createJournalShares({ isShared, hasProofs }: JournalSharesOptions) {
  const accounts = new Map<AccountName, Held>();

  function heldOf(account: AccountName): Held {
    const known = accounts.get(account) ?? { provenBytes: 0, otherBytes: 0, toPark: 0, unproven: 0 };
    accounts.set(account, known);
    return known;
  }

  return {
    heldOf: (account: AccountName): HeldDeliveries => heldOf(account),
    /** Counts a delivery of so many bytes that came, or that has gone. */
    count({ account, isProven, parkReason }: Sharer, bytes: number, change: 'came' | 'gone'): void {
      const held = heldOf(account);
      const sign = change === 'came' ? 1 : -1;
      // A commit that failed may have reached the disk uncounted.
      const add = (what: keyof Held, more: number): number => (held[what] = Math.max(0, held[what] + sign * more));
      add(isProven ? 'provenBytes' : 'otherBytes', bytes);
      if (parkReason !== undefined) add('toPark', 1);
      else if (!isProven) add('unproven', 1);
    },
    /** Does the delivery fit into the share of its account, where so many bytes of the journal are free? */
    hasRoom({ account, isProven }: Sharer, bytes: number, freeBytes: number): boolean {
      const { provenBytes, otherBytes } = heldOf(account);
      const freeAfter = freeBytes - bytes;
      const leftAfter = isShared ? freeAfter - (provenBytes + otherBytes + bytes) : freeAfter;
      return leftAfter >= 0 && (isProven || !hasProofs || otherBytes + bytes <= leftAfter);
    },
  };
}
