import type { DeliveryNotice, DeliveryResult } from '../../domain/delivery.js';
import { FaretrailError } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import type { ParkedDeliveryInput } from '../../domain/parked.js';
import {
  type CompanyReportKey,
  companyReportId,
  type FollowOrderKey,
  followOrderId,
} from '../../domain/workflow-ids.js';
import type { DeliveryPort } from '../delivery-port.js';

/** What a delivery may wait for: that the run of its order or report may start, or that it may be parked. */
export const waitReasons = ['newOrders', 'parked'] as const;

/** One of `waitReasons`. */
export type WaitReason = (typeof waitReasons)[number];

/** How much of an account's share is free. */
export type Room = (reason: WaitReason, account: AccountName) => number;

/** The account has used up its share, so this delivery must wait. Not for an order that a run follows. */
export class ShareUsedUp extends FaretrailError<'ShareUsedUp'> {
  override readonly name = 'ShareUsedUp';

  readonly reason: WaitReason;

  constructor(reason: WaitReason) {
    super('ShareUsedUp', `the account has used up its share: ${reason}`);
    this.reason = reason;
  }
}

interface StartsOptions {
  port: Pick<DeliveryPort, 'signal' | 'isKnown' | 'isSettled' | 'toOrder' | 'toReport' | 'park' | 'countParked'>;
  /** The most runs of an account that deliveries have started and that have not read yet; null: any number. */
  newOrdersAtOnce: number | null;
  /** The most deliveries of an account that may wait for a person; null: any number. */
  parkedAtMost: number | null;
  now?: () => number;
}

/** A run is asked at most so often whether it has read. */
const askEveryMs = 1_000;
/** Visibility takes ten calls a second for a whole namespace. Meanwhile other processes may park some more. */
const countEveryMs = 10_000;

export type Starts = ReturnType<typeof createStarts>;

/**
 * Delivers to runs, and starts few at a time: anyone who knows an address can invent order ids, each of which costs reads, and send what has
 * no place. A delivery for which there is no place rejects with `ShareUsedUp`. Remembers in memory what it has started, so that after a
 * restart as many may start again.
 */
export function createStarts({ port, newOrdersAtOnce, parkedAtMost, now = Date.now }: StartsOptions) {
  /** The ids of the runs that were started here, as far as they have not read yet. */
  const unread = new Map<AccountName, Set<string>>();
  const unreadOf = (account: AccountName): Set<string> => {
    const ids = unread.get(account) ?? new Set<string>();
    unread.set(account, ids);
    return ids;
  };

  /** Forgets the runs that have read or ended. Those whose start has no answer yet are not in the list: Temporal may not know them. */
  async function forgetSettled(account: AccountName): Promise<number> {
    const ids = unreadOf(account);
    const asked = [...ids].map(async (id) => (await port.isSettled(id).catch(() => false)) && ids.delete(id));
    return (await Promise.all(asked)).filter(Boolean).length;
  }

  const newOrders = new Share('newOrders', {
    ...{ atMost: newOrdersAtOnce ?? Number.POSITIVE_INFINITY, everyMs: askEveryMs, now },
    freed: forgetSettled,
  });
  const parked = new Share('parked', {
    ...{ atMost: parkedAtMost ?? Number.POSITIVE_INFINITY, everyMs: countEveryMs, now },
    freed: async (account, used) => used - (await port.countParked(account)),
  });

  async function startNew(account: AccountName, id: string, start: () => Promise<DeliveryResult>) {
    if (newOrdersAtOnce === null) return await start();
    await newOrders.take(account);
    const ids = unreadOf(account);
    let result: DeliveryResult | undefined;
    try {
      result = await start();
      return result;
    } finally {
      // Where the answer is lost the run keeps its place: it may have started.
      const isStarted = result === undefined || result === 'started' || result === 'reported';
      if (isStarted && !ids.has(id)) ids.add(id);
      else newOrders.giveBack(account);
    }
  }

  return {
    async toOrder(key: FollowOrderKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult> {
      const id = followOrderId(key);
      if (await port.signal(id, deliveries)) return 'signalled';
      return await startNew(key.account, id, () => port.toOrder(key, deliveries));
    },
    async toReport(key: CompanyReportKey, deliveries: DeliveryNotice[]): Promise<DeliveryResult> {
      const id = companyReportId(key);
      if (await port.signal(id, deliveries)) return 'reported';
      const start = () => port.toReport(key, deliveries);
      return (await port.isKnown(key)) ? await start() : await startNew(key.account, id, start);
    },
    async park(delivery: ParkedDeliveryInput): Promise<void> {
      if (parkedAtMost === null) return await port.park(delivery);
      await parked.take(delivery.account);
      await port.park(delivery).catch((error: unknown) => {
        parked.giveBack(delivery.account);
        throw error;
      });
    },
    /** How many more of the account may start, or be parked, now. */
    room: ((reason, account) => (reason === 'parked' ? parked : newOrders).room(account)) satisfies Room,
  };
}

interface ShareOptions {
  atMost: number;
  /** The shortest time between two looks at what is free again. */
  everyMs: number;
  now: () => number;
  /** How many of the used places are free again; less than none where others use some. A look that fails changes nothing. */
  freed(account: AccountName, used: number): Promise<number>;
}

/** So many places for each account. */
class Share {
  readonly #reason: WaitReason;
  readonly #options: ShareOptions;
  readonly #accounts = new Map<AccountName, { used: number; lookedAt: number; looking: Promise<void> }>();

  constructor(reason: WaitReason, options: ShareOptions) {
    this.#reason = reason;
    this.#options = options;
  }

  /** Takes a place, or rejects with `ShareUsedUp`. */
  async take(account: AccountName): Promise<void> {
    await this.#look(account);
    // In the same turn as it finds one, since others wait for the same place.
    const share = this.#shareOf(account);
    if (share.used >= this.#options.atMost) throw new ShareUsedUp(this.#reason);
    share.used += 1;
  }

  giveBack(account: AccountName): void {
    this.#shareOf(account).used -= 1;
  }

  room(account: AccountName): number {
    const left = this.#options.atMost - this.#shareOf(account).used;
    if (left <= 0) void this.#look(account);
    return left;
  }

  #shareOf(account: AccountName) {
    const share = this.#accounts.get(account) ?? {
      used: 0,
      lookedAt: Number.NEGATIVE_INFINITY,
      looking: Promise.resolve(),
    };
    this.#accounts.set(account, share);
    return share;
  }

  /** Looks before the first place is taken, and then whenever all are used. */
  #look(account: AccountName): Promise<void> {
    const { atMost, everyMs, now, freed } = this.#options;
    const share = this.#shareOf(account);
    const isWanted = share.used >= atMost || share.lookedAt === Number.NEGATIVE_INFINITY;
    if (!isWanted || now() - share.lookedAt < everyMs) return share.looking;
    share.lookedAt = now();
    const giveBack = (places: number): void => {
      share.used -= places;
    };
    share.looking = freed(account, share.used).then(giveBack, () => undefined);
    return share.looking;
  }
}
