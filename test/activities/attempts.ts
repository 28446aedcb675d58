import type { Info } from '@temporalio/activity';
import { createQuietTimes } from '../../src/activities/authorized-call.js';
import { createOrderActivities, createProvenPaths, type OrderReader } from '../../src/activities/order.js';
import { toOrderId } from '../../src/domain/keys.js';
import { toRideStatus } from '../../src/domain/order/status.js';
import type { OrderReading, ReadOrderInput } from '../../src/domain/order/trail.js';
import { partnerAccount } from '../ride-api/accounts.js';
import { nextOf } from './service.js';
import { attemptOnce, iso, repeatAttempts, start } from './temporal.js';

export const account = {
  ...partnerAccount(),
  poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 120_000 },
};

/** A read of an order that the run shows as `Routing`, since the start. */
const readAt = (more: Partial<ReadOrderInput> = {}): ReadOrderInput => ({
  account: account.name,
  orderId: toOrderId('4711'),
  ...{ rawStatus: 'Routing', attention: null, since: iso(start), scheduledAt: null, followedSince: iso(start) },
  ...{ notBefore: null, vouching: 'rideOrRead', streak: null, isWatched: true, forPerson: false },
  ...more,
});

/** The activity with its input. */
export const aRead = (more?: Partial<ReadOrderInput>) => ({ name: 'readOrder', input: readAt(more) }) as const;

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
  /** How often a read has seen to it that the watch runs. */
  starts = 0;
  readonly quietTimes = createQuietTimes(() => this.now);
  readonly provenPaths = createProvenPaths(() => this.now);
  readOrder: OrderReader = async () => this.answer();
  readonly activities = createOrderActivities({
    unprovenReads: { waitMs: () => 0 },
    account: () => account,
    readOrder: (...args) => this.readOrder(...args),
    startWatch: async () => {
      this.starts += 1;
    },
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

  attempt({ input }: ReturnType<typeof aRead>, info: Partial<Info> = {}) {
    const times = { scheduledTimestampMs: this.now, currentAttemptScheduledTimestampMs: this.now };
    return attemptOnce<unknown>({ ...times, ...info }, () => this.activities.readOrder(input));
  }

  /** See `repeatAttempts`. */
  run(read: ReturnType<typeof aRead>, limits: Limits = {}) {
    return repeatAttempts(this, limits, (info) => this.attempt(read, info));
  }
}
