import type { Info } from '@temporalio/activity';
import { createQuietTimes } from '../../src/activities/authorized-call.js';
import {
  createOrderActivities,
  createProvenPaths,
  type OrderActivities,
  type OrderReader,
  type Shown,
} from '../../src/activities/order.js';
import type { Reliance } from '../../src/activities/order-pace.js';
import type { Cadence } from '../../src/domain/account.js';
import { toOrderId } from '../../src/domain/keys.js';
import { toRideStatus } from '../../src/domain/order/status.js';
import type { LookInput, OrderReading } from '../../src/domain/order/trail.js';
import { partnerAccount } from '../ride-api/accounts.js';
import { nextOf } from './service.js';
import { attemptOnce, iso, repeatAttempts, start } from './temporal.js';

export const account = {
  ...partnerAccount(),
  poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 120_000, provenMs: 600_000 },
};

/** A look at an order that the run shows as `Routing`, since the start. */
export const lookAt = (more: Partial<LookInput> = {}): LookInput => ({
  account: account.name,
  orderId: toOrderId('4711'),
  shown: { rawStatus: 'Routing', attention: null },
  since: iso(start),
  scheduledAt: null,
  pushed: false,
  notBefore: null,
  mayBeUnknown: false,
  ...more,
});

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
  /** When the run read the order last, for a poll; null: never. */
  lastReadAt?: string | null;
  /** The run of the activity. */
  workflowExecution?: Info['workflowExecution'];
}

/** The orders at the service, and Temporal, as far as the activities see them. */
export class LookStage {
  now = start;
  random = 0;
  /** What the next reads do. */
  answers: (OrderReading | Error)[];
  /** When the service was asked. */
  readonly asked: number[] = [];
  /** What the run shows to its polls; an Error when Temporal does not answer. */
  shown: Shown | Error = { status: 'Routing', concern: null, runLength: 20 };
  /** Since when the run shows its status, as it answers to a query; an Error when no worker answers. */
  since: string | Error = iso(start);
  poll: Cadence = account.poll;
  /** How far polls may rely on deliveries. */
  reliance: Reliance = { earned: 0, takesMisses: false };
  /** The orders about which a delivery was missed. */
  readonly misses: string[] = [];
  readonly quietTimes = createQuietTimes(() => this.now);
  readonly provenPaths = createProvenPaths(() => this.now);
  readOrder: OrderReader = async () => this.answer();
  readonly activities = createOrderActivities({
    account: () => ({ ...account, poll: this.poll }),
    readOrder: (...args) => this.readOrder(...args),
    readShown: async () => {
      const { shown } = this;
      if (shown instanceof Error) throw shown;
      return shown;
    },
    readSince: async () => {
      if (this.since instanceof Error) throw this.since;
      return this.since;
    },
    quietTimes: this.quietTimes,
    provenPaths: this.provenPaths,
    reliability: {
      of: async () => this.reliance,
      miss: async (_account, orderId) => {
        this.misses.push(orderId);
      },
    },
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

  attempt(name: keyof OrderActivities, input: LookInput, about: Partial<Info> & Pick<Limits, 'lastReadAt'> = {}) {
    const { lastReadAt = null, ...info } = about;
    const times = { scheduledTimestampMs: this.now, currentAttemptScheduledTimestampMs: this.now };
    return attemptOnce({ ...times, ...info }, () => this.activities[name](input, lastReadAt));
  }

  /** See `repeatAttempts`. */
  run(name: keyof OrderActivities, input: LookInput, { lastReadAt = null, workflowExecution, ...limits }: Limits = {}) {
    const about = { lastReadAt, ...(workflowExecution && { workflowExecution }) };
    return repeatAttempts(this, limits, (info) => this.attempt(name, input, { ...info, ...about }));
  }
}
