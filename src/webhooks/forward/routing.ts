import pMap from 'p-map';
import { type MonotonicClock, monotonicMs } from '../../clock.js';
import {
  type Delivery,
  type DeliveryAbout,
  type DeliveryNotice,
  type DeliveryResult,
  isEndParkReason,
  type ParkReason,
  takingRunId,
  toDeliveryNotices,
} from '../../domain/delivery.js';
import { FaretrailError } from '../../domain/errors.js';
import type { AccountName } from '../../domain/keys.js';
import type { ParkedDeliveryInput } from '../../domain/parked.js';
import { shares } from '../../domain/shares.js';
import { createSignalPace, type SignalPace } from '../../domain/signal-pace.js';
import { mustNameOrder } from '../../domain/subscription/subscription.js';
import type { SubscriptionKey } from '../../domain/workflow-ids.js';
import { type DeliveryPort, TemporalUnavailable } from '../delivery-port.js';

/** Checks a delivery that was admitted by its path alone. Gives why it must be parked, or null. Rejects while it cannot check. */
export type DeliveryCheck = (delivery: Delivery) => Promise<ParkReason | null>;

/** Receives the results of forwarded deliveries, for metrics. */
export type OnForwarded = (about: SubscriptionKey, result: DeliveryResult | 'parked', deliveries: number) => void;

export interface RoutingPorts {
  port: Pick<Starts, 'toRun' | 'park'>;
  check: DeliveryCheck;
  /** What a person gets of the content of a delivery that was checked late. Default: all of it. */
  shorten?: (delivery: Delivery) => Promise<string>;
  onForwarded?: OnForwarded;
  /** Every way to runs in this process has the same one. */
  pace?: SignalPace;
}

/** A server that is down, or does not take the call, says so at once. One that took it and is slow does not. */
const refusedWithinMs = 1_000;

/** Each parked delivery is one call. Many calls at once would occupy the connection. */
const parkedAtOnce = 8;

/**
 * Makes the function that carries deliveries which share account, event type and order id to their run in one call, and parks others singly.
 * It gives the deliveries that Temporal has, and the first error of the others.
 */
export function createRouting({
  port,
  check,
  shorten,
  onForwarded,
  pace = createSignalPace(monotonicMs),
}: RoutingPorts) {
  /** Why the delivery must be parked; null: it goes to its run. */
  async function judge(delivery: Delivery): ReturnType<DeliveryCheck> {
    const { parkReason, uncheckedGeneration, eventType, orderId } = delivery;
    const refusal = uncheckedGeneration === undefined ? null : await check(delivery);
    if (refusal !== null || parkReason !== undefined) return refusal ?? parkReason ?? null;
    return mustNameOrder[eventType] && orderId === null ? 'noOrderId' : null;
  }

  /** Sends a signal if the run may have one now. Also counts one whose answer was lost: it may have arrived. */
  async function inPace<T>(runId: string, send: () => Promise<T>): Promise<T> {
    const waitMs = pace.waitMs(runId);
    if (waitMs > 0) throw new SignalsPaused(runId, waitMs);
    const takeBack = pace.count(runId);
    const sentAt = monotonicMs();
    try {
      return await send();
    } catch (error) {
      const isRefused = error instanceof TemporalUnavailable && monotonicMs() - sentAt < refusedWithinMs;
      if (isRefused || error instanceof ShareUsedUp) takeBack();
      throw error;
    }
  }

  /** Gives the reason why the deliveries must be parked instead, or null. */
  async function signal(deliveries: readonly Delivery[], first: Delivery): Promise<ParkReason | null> {
    const result = await inPace(takingRunId(first), () => port.toRun(first, toDeliveryNotices(deliveries)));
    if (isEndParkReason(result)) return result;
    onForwarded?.(first, result, deliveries.length);
    return null;
  }

  async function park(delivery: Delivery, reason: ParkReason): Promise<void> {
    const { account, eventType, orderId, deliveryId, receivedAt, eventTime, isProven = false } = delivery;
    const { sealed: whole = '', uncheckedGeneration } = delivery;
    // What our keys do not open, stays as it is.
    const sealed = uncheckedGeneration === undefined ? whole : ((await shorten?.(delivery).catch(() => null)) ?? whole);
    const aboutOrder = orderId !== null && isEndParkReason(reason) ? { aboutOrderId: orderId } : {};
    const happened = eventTime === undefined ? {} : { eventTime };
    const parked = { account, eventType, deliveryId, receivedAt, reason, sealed, ...happened, ...aboutOrder };
    await port.park(parked, isProven);
    onForwarded?.(delivery, 'parked', 1);
  }

  return async (deliveries: readonly Delivery[]): Promise<{ done: ReadonlySet<Delivery>; error: Error | null }> => {
    const done = new Set<Delivery>();
    const toSignal: Delivery[] = [];
    const toPark: (readonly [Delivery, ParkReason])[] = [];
    let error: Error | null = null;
    const note = (cause: unknown): void => {
      error ??= toError(cause);
    };
    const verdicts = await Promise.allSettled(deliveries.map(judge));
    for (const [index, delivery] of deliveries.entries()) {
      const verdict = verdicts[index];
      if (verdict?.status !== 'fulfilled') note(verdict?.reason);
      else if (verdict.value === null) toSignal.push(delivery);
      else toPark.push([delivery, verdict.value]);
    }
    const [first] = toSignal;
    if (first)
      await signal(toSignal, first).then((reason) => {
        for (const one of toSignal) reason === null ? done.add(one) : toPark.push([one, reason]);
      }, note);
    const parkOne = ([one, reason]: (typeof toPark)[number]) => park(one, reason).then(() => done.add(one), note);
    await pMap(toPark, parkOne, { concurrency: parkedAtOnce });
    return { done, error };
  };
}

/** Forwards without a journal. Resolves when Temporal has the delivery, so that the ingress may answer 2xx. */
export function createDirectForwarding(ports: RoutingPorts): (delivery: Delivery) => Promise<void> {
  const route = createRouting(ports);
  return async (delivery) => {
    const { error } = await route([delivery]);
    if (error) throw error;
  };
}

const toError = (error: unknown): Error =>
  error instanceof Error ? error : new FaretrailError('ForwardFailed', 'a delivery could not be forwarded');

/** What a delivery may wait for: that the run of its order or report may start, or that it may be parked. */
export type WaitReason = 'newOrders' | 'parked';

/** How much of an account's share is free, for deliveries that have proved themselves or for others. */
export type Room = (reason: WaitReason, account: AccountName, isProven?: boolean) => number;

/** The account has used up its share, so this delivery must wait. Not for an order that a run follows. */
export class ShareUsedUp extends FaretrailError<'ShareUsedUp'> {
  override readonly name = 'ShareUsedUp';

  readonly reason: WaitReason;

  constructor(reason: WaitReason) {
    super('ShareUsedUp', `the account has used up its share: ${reason}`);
    this.reason = reason;
  }
}

/** The run has got many signals, so the next one must wait. */
export class SignalsPaused extends FaretrailError<'SignalsPaused'> {
  override readonly name = 'SignalsPaused';

  readonly runId: string;
  readonly waitMs: number;

  constructor(runId: string, waitMs: number) {
    super('SignalsPaused', 'the run has got many signals, so the next one waits');
    this.runId = runId;
    this.waitMs = waitMs;
  }
}

interface StartsOptions {
  port: Pick<DeliveryPort, 'signal' | 'isKnown' | 'isSettled' | 'toRun' | 'park' | 'countParked'>;
  /** The most runs of an account that deliveries have started and that have not read yet; null: any number. */
  newOrdersAtOnce: number | null;
  /** The most deliveries of an account that may wait for a person; null: any number. */
  parkedAtMost: number | null;
  /** Those of them that have proved themselves get at least half of the places. */
  hasProofs: boolean;
  monotonic?: MonotonicClock;
}

/** What an account may have started and parked; nothing is limited where its addresses are not. */
export const limitsOf = (settings: { deliveriesPerSecond: number | null }) => ({
  newOrdersAtOnce: settings.deliveriesPerSecond === null ? null : shares.account.newOrders,
  parkedAtMost: settings.deliveriesPerSecond === null ? null : shares.parked.deliveries,
});

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
export function createStarts(options: StartsOptions) {
  const { port, newOrdersAtOnce, parkedAtMost, hasProofs, monotonic = monotonicMs } = options;
  const forProven = hasProofs && parkedAtMost !== null ? Math.floor(parkedAtMost / 2) : 0;

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

  const newOrders = createShare('newOrders', {
    ...{ atMost: newOrdersAtOnce ?? Number.POSITIVE_INFINITY, everyMs: askEveryMs, monotonic },
    freed: forgetSettled,
  });
  const parked = createShare('parked', {
    ...{ atMost: parkedAtMost ?? Number.POSITIVE_INFINITY, everyMs: countEveryMs, monotonic },
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
    async toRun(about: DeliveryAbout, deliveries: DeliveryNotice[]): Promise<DeliveryResult> {
      const { account, eventType, orderId } = about;
      const id = takingRunId(about);
      if (await port.signal(id, deliveries)) return eventType === 'business_report' ? 'reported' : 'signalled';
      const start = () => port.toRun(about, deliveries);
      const mayBeKnown = eventType === 'business_report' && orderId !== null;
      if (mayBeKnown && (await port.isKnown({ account, orderId }))) return await start();
      return await startNew(account, id, start);
    },
    async park(delivery: ParkedDeliveryInput, isProven = false): Promise<void> {
      if (parkedAtMost === null) return await port.park(delivery);
      await parked.take(delivery.account, isProven ? 0 : forProven);
      await port.park(delivery).catch((error: unknown) => {
        parked.giveBack(delivery.account);
        throw error;
      });
    },
    /** How many more of the account may start, or be parked, now. */
    room: ((reason, account, isProven = false) =>
      reason === 'parked' ? parked.room(account, isProven ? 0 : forProven) : newOrders.room(account)) satisfies Room,
  };
}

interface ShareOptions {
  atMost: number;
  /** The shortest time between two looks at what is free again. */
  everyMs: number;
  monotonic: MonotonicClock;
  /** How many of the used places are free again; less than none where others use some. A look that fails changes nothing. */
  freed(account: AccountName, used: number): Promise<number>;
}

/** So many places for each account. */
function createShare(reason: WaitReason, { atMost, everyMs, monotonic, freed }: ShareOptions) {
  const accounts = new Map<AccountName, { used: number; lookedAt: number; looking: Promise<void> }>();

  function shareOf(account: AccountName) {
    const share = accounts.get(account) ?? {
      used: 0,
      lookedAt: Number.NEGATIVE_INFINITY,
      looking: Promise.resolve(),
    };
    accounts.set(account, share);
    return share;
  }

  /** Looks before the first place is taken, and then whenever all are used. */
  function look(account: AccountName, leaving = 0): Promise<void> {
    const share = shareOf(account);
    const isWanted = share.used >= atMost - leaving || share.lookedAt === Number.NEGATIVE_INFINITY;
    if (!isWanted || monotonic() - share.lookedAt < everyMs) return share.looking;
    share.lookedAt = monotonic();
    const giveBack = (places: number): void => {
      share.used -= places;
    };
    share.looking = freed(account, share.used).then(giveBack, () => undefined);
    return share.looking;
  }

  return {
    /** Takes a place and leaves so many, or rejects with `ShareUsedUp`. */
    async take(account: AccountName, leaving = 0): Promise<void> {
      await look(account, leaving);
      // In the same turn as it finds one, since others wait for the same place.
      const share = shareOf(account);
      if (share.used >= atMost - leaving) throw new ShareUsedUp(reason);
      share.used += 1;
    },
    giveBack(account: AccountName): void {
      shareOf(account).used -= 1;
    },
    room(account: AccountName, leaving = 0): number {
      const left = atMost - leaving - shareOf(account).used;
      if (left <= 0) void look(account, leaving);
      return left;
    },
  };
}
