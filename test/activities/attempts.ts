import type { Info } from '@temporalio/activity';
import { createQuietTimes } from '../../src/activities/authorized-call.js';
import { createOrderActivities, createProvenPaths, type OrderReader, type Shown } from '../../src/activities/order.js';
import { toOrderId } from '../../src/domain/keys.js';
import { toRideStatus } from '../../src/domain/order/status.js';
import type { ObserveOrderInput, OrderReading, ReadOrderInput } from '../../src/domain/order/trail.js';
import { partnerAccount } from '../ride-api/accounts.js';
import { nextOf } from './service.js';
import { attemptOnce, iso, repeatAttempts, start } from './temporal.js';

export const account = {
  ...partnerAccount(),
  poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 120_000 },
};

const shown = {
  account: account.name,
  orderId: toOrderId('4711'),
  ...{ rawStatus: 'Routing', attention: null, since: iso(start), scheduledAt: null, followedSince: iso(start) },
};

/** A read of an order that the run shows as `Routing`, since the start. */
export const readAt = (more: Partial<ReadOrderInput> = {}): ReadOrderInput => ({
  ...shown,
  ...{ notBefore: null, vouching: 'rideOrRead', struggle: null, forPerson: false },
  ...more,
});

/** A poll of such an order. */
export const pollAt = (more: Partial<ObserveOrderInput> = {}): ObserveOrderInput => ({
  ...shown,
  ...{ pushed: false, lastReadAt: null },
  ...more,
});

/** One of the two activities, with its input. */
export type Looking = ReturnType<typeof aRead> | ReturnType<typeof aPoll>;
export const aRead = (more?: Partial<ReadOrderInput>) => ({ name: 'readOrder', input: readAt(more) }) as const;
export const aPoll = (more?: Partial<ObserveOrderInput>) => ({ name: 'observeOrder', input: pollAt(more) }) as const;

export const readingOf = (rawStatus: string, details: OrderReading['details'] = null): OrderReading => ({
  status: toRideStatus(rawStatus),
  rawStatus,
  terminal: false,
  details,
});

interface Limits {
  untilMs?: number;
  /** What an attempt before these left. */
  heartbeatDetails?: unknown;
}

/** The orders at the service, and Temporal, as far as the activities see them. */
export class LookStage {
  now = start;
  random = 0;
  /** What the next reads do. */
  answers: (OrderReading | Error)[];
  /** When the service was asked. */
  readonly asked: number[] = [];
  /** What the run shows to a poll that asks; an Error when Temporal does not answer. */
  shown: Shown | Error = { status: 'Routing', concern: null, isAnnounced: false };
  /** How often a poll has asked for it. */
  asks = 0;
  readonly quietTimes = createQuietTimes(() => this.now);
  readonly provenPaths = createProvenPaths(() => this.now);
  readOrder: OrderReader = async () => this.answer();
  readonly activities = createOrderActivities({
    account: () => account,
    readOrder: (...args) => this.readOrder(...args),
    readShown: async () => {
      this.asks += 1;
      if (this.shown instanceof Error) throw this.shown;
      return this.shown;
    },
    quietTimes: this.quietTimes,
    provenPaths: this.provenPaths,
    now: () => this.now,
    random: () => this.random,
  });

  constructor(...answers: LookStage['answers']) {
    this.answers = answers;
  }

  answer(): OrderReading {
    this.asked.push(this.now);
    return nextOf(this.answers);
  }

  attempt({ name, input }: Looking, info: Partial<Info> = {}) {
    const times = { scheduledTimestampMs: this.now, currentAttemptScheduledTimestampMs: this.now };
    return attemptOnce<unknown>({ ...times, ...info }, () =>
      name === 'readOrder' ? this.activities.readOrder(input) : this.activities.observeOrder(input),
    );
  }

  /** See `repeatAttempts`. */
  run(looking: Looking, limits: Limits = {}) {
    return repeatAttempts(this, limits, (info) => this.attempt(looking, info));
  }
}
