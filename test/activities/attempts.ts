import type { Info } from '@temporalio/activity';
import { createQuietTimes, type QuietTimes } from '../../src/activities/authorized-call.js';
import {
  createOrderActivities,
  createProvenPaths,
  type OrderActivities,
  type OrderReader,
  type ProvenPaths,
  type Shown,
} from '../../src/activities/order.js';
import { toOrderId } from '../../src/domain/keys.js';
import { toRideStatus } from '../../src/domain/order/status.js';
import type { LookInput, OrderObservation, OrderReading } from '../../src/domain/order/trail.js';
import { partnerAccount } from '../ride-api/accounts.js';
import { type Attempt, attemptOnce, repeatAttempts } from './temporal.js';

export { delayOf, logger } from './temporal.js';

export const start = Date.parse('2031-05-01T10:00:00.000Z');
export const iso = (epochMs: number): string => new Date(epochMs).toISOString();

export const account = {
  ...partnerAccount(),
  poll: { activeMs: 10_000, reservedMs: 300_000, pushedMs: 120_000 },
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

type LookAttempt = Attempt<OrderObservation>;

/** When the run read the order last, for a poll; null: never. */
interface AfterRead {
  lastReadAt?: string | null;
}

interface Limits {
  untilMs?: number;
  /** What an attempt before these left. */
  heartbeatDetails?: unknown;
}

/** The orders at the service, and Temporal, as far as the activities see them. */
export interface LookStage {
  now: number;
  random: number;
  /** What the next reads do: give a reading or throw. The last one goes on for ever. */
  answers: (OrderReading | Error)[];
  /** When the service was asked. */
  asked: number[];
  /** What the run shows, as far as its polls ask; an Error when Temporal does not answer. */
  shown: Shown | Error;
  /** What this process knows of accounts. */
  quietTimes: QuietTimes;
  provenPaths: ProvenPaths;
  attempt(name: keyof OrderActivities, input: LookInput, about?: Partial<Info> & AfterRead): Promise<LookAttempt>;
  /** See `repeatAttempts`. */
  run(name: keyof OrderActivities, input: LookInput, limits?: Limits & AfterRead): Promise<LookAttempt[]>;
}

export function createLookStage(reader?: (stage: LookStage) => OrderReader): LookStage {
  const stage: LookStage = {
    now: start,
    random: 0,
    answers: [],
    asked: [],
    shown: { status: 'Routing', runLength: 20 },
    quietTimes: createQuietTimes(() => stage.now),
    provenPaths: createProvenPaths(() => stage.now),
    attempt(name, input, { lastReadAt = null, ...info } = {}) {
      const times = { scheduledTimestampMs: stage.now, currentAttemptScheduledTimestampMs: stage.now };
      return attemptOnce({ ...times, ...info }, () => activities[name](input, lastReadAt));
    },
    run: (name, input, { lastReadAt = null, ...limits } = {}) =>
      repeatAttempts(stage, limits, (info) => stage.attempt(name, input, { ...info, lastReadAt })),
  };
  const readOrder = reader?.(stage) ?? (async () => answer(stage));
  const activities = createOrderActivities({
    account: () => account,
    readOrder,
    readShown: async () => {
      if (stage.shown instanceof Error) throw stage.shown;
      return stage.shown;
    },
    quietTimes: stage.quietTimes,
    provenPaths: stage.provenPaths,
    now: () => stage.now,
    random: () => stage.random,
  });
  return stage;
}

/** A stage on which the next reads do this. */
export function stageWith(...answers: LookStage['answers']): LookStage {
  const stage = createLookStage();
  stage.answers = answers;
  return stage;
}

/** One call to the service. */
export function answer(stage: LookStage): OrderReading {
  stage.asked.push(stage.now);
  const next = stage.answers.length > 1 ? stage.answers.shift() : stage.answers[0];
  if (!next) throw new Error('the stage has no answer');
  if (next instanceof Error) throw next;
  return next;
}
