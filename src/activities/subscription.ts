import { activityInfo, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { type Account, actsForCompany } from '../domain/account.js';
import { FaretrailError } from '../domain/errors.js';
import { iso } from '../domain/instant.js';
import type { AccountName } from '../domain/keys.js';
import type { Struggle } from '../domain/struggle.js';
import type { ReliabilityTarget, SilenceWatch } from '../domain/subscription/input.js';
import {
  isMissRecent,
  isReliabilityNews,
  noReliability,
  type Reliability,
  type ReliabilityTerms,
  reliabilityAfter,
} from '../domain/subscription/reliability.js';
import { judgeSilence, type OrderCounts, silenceWindowStart } from '../domain/subscription/silence.js';
import type {
  CreateSubscriberInput,
  RemovalOutcome,
  RemoveSubscriberInput,
  SubscribingOutcome,
} from '../domain/subscription/state.js';
import { notYet, plainFailure } from './failures.js';
import { createLooking, type LookingPorts, toFailureType } from './looking.js';
import { type Sending, type SubscriberCalls, toSubscriptionTrouble } from './subscriber-calls.js';

export interface SubscriptionActivityPorts extends LookingPorts {
  calls: SubscriberCalls;
}

export type SubscriptionActivities = ReturnType<typeof createSubscriptionActivities>;

/** What one attempt leaves for the next, in the heartbeat details: they add no event. */
interface Progress extends Sending {
  /** Which attempt left it. */
  attempt: number;
  struggle: Struggle | null;
}

/** Activities that change the subscribers at the service. No address or secret leaves them in clear. */
export function createSubscriptionActivities({ account, calls, ...ports }: SubscriptionActivityPorts) {
  const looking = createLooking(ports);
  const { now } = looking;

  async function clarify(input: CreateSubscriberInput, reason: string): Promise<SubscribingOutcome> {
    const found = await calls.find(input).catch(() => undefined);
    if (found) return { kind: 'registered', ...found };
    const message = `${reason}: the service may have subscribed us all the same. It is asked again, for another address.`;
    return { kind: 'unclear', message };
  }

  return {
    /** One request for a subscription. Temporal slowly repeats a request that surely failed, and the run learns of lasting trouble.
     *  A request with an unclear outcome is never repeated at the same address. */
    async createSubscriber(input: CreateSubscriberInput): Promise<SubscribingOutcome> {
      const { attempt: number, heartbeatDetails } = activityInfo();
      const before = (heartbeatDetails ?? null) as Progress | null;
      // Each attempt that ends leaves its progress. Progress of an older attempt means that the previous one broke off.
      const isWellEnded = before?.attempt === number - 1 && !before.isSent;
      if (number > 1 && !isWellEnded) return await clarify(input, 'A worker stopped during a request');
      const struggle = before?.struggle ? looking.shortened(before.struggle) : null;
      const progress: Progress = { attempt: number, isSent: false, struggle };
      const leaveWord = (): void => heartbeat({ ...progress });
      const look = looking.look<SubscribingOutcome, SubscribingOutcome>({
        shown: input.shown,
        before: struggle,
        async read() {
          refuseOtherInterface(account(input.account));
          if (!struggle) looking.waitUntil(input.notBefore);
          try {
            return { kind: 'registered', ...(await calls.create(input, progress, leaveWord)) };
          } catch (error) {
            if (!progress.isSent) throw error;
            return await clarify(input, error instanceof FaretrailError ? error.message : 'no answer');
          }
        },
        answer: (outcome) => outcome,
        toTrouble: (error) => toSubscriptionTrouble(error, input, now()),
        show: toTrouble,
        leave(left) {
          progress.struggle = left;
        },
      });
      return await look.catch((error: unknown) => {
        leaveWord();
        throw error;
      });
    },

    /** Removes a subscriber at the service, if the contract profile allows it. */
    async removeSubscriber(input: RemoveSubscriberInput): Promise<RemovalOutcome> {
      return await calls.remove(input).catch((error: unknown) => {
        const trouble = toSubscriptionTrouble(error, input, now());
        if (!trouble) throw error;
        throw plainFailure({ type: toFailureType(trouble.code), message: trouble.message });
      });
    },
  };
}

/** The documents of the service show subscriptions at the business interface only. */
function refuseOtherInterface({ name, interface: at }: Account): void {
  if (actsForCompany[at]) return;
  const message = `account: ${name} belongs to the ${at} interface; only business accounts can subscribe`;
  throw ApplicationFailure.nonRetryable(message, 'InvalidInput');
}

const toTrouble = ({ code, message, since, notBefore }: Struggle): SubscribingOutcome => ({
  kind: 'trouble',
  attention: { code: code === 'orderNotFound' ? 'forbidden' : code, message, since },
  notBefore,
});

/** The input of a watch for silence. */
export interface WatchSilenceInput extends SilenceWatch {
  account: AccountName;
  /** ISO instant since which the service delivers to the newest address. */
  registeredAt: string;
  /** What the run shows now. */
  isSilent: boolean;
  /** ISO instant from which lasting silence is news again; null: never. */
  tellAgainAt: string | null;
  /** What is proven so far; null: nothing was counted. Absent: a worker of an earlier release asks. */
  reliability?: ReliabilityTarget & { held: Reliability | null };
}

/** The news of a watch. */
export interface SilenceVerdict {
  isSilent: boolean;
  counts: OrderCounts;
  /** Absent: it is as the run knows it. */
  reliability?: Reliability;
}

export interface SilenceActivityPorts {
  /** Counts, in visibility, orders of the account that started after this instant (epoch milliseconds). */
  countOrders(account: AccountName, startedAfter: number): Promise<OrderCounts>;
  /** Counts, in visibility, orders of the account that ended after this instant (epoch milliseconds), their end announced by a delivery. */
  countAnnouncedEnds(account: AccountName, endedAfter: number): Promise<number>;
  now?: () => number;
  random?: () => number;
}

export type SilenceActivities = ReturnType<typeof createSilenceActivities>;

/** Spreads subscriptions that began together, since visibility accepts few calls a second. */
const jitterShare = 0.1;

/** The activity that notices missing deliveries, and counts those that came. It uses nothing of an account's request budget. */
export function createSilenceActivities(ports: SilenceActivityPorts) {
  const { countOrders, now = Date.now, random = Math.random } = ports;
  return {
    /** Completes only with news. Until then Temporal repeats it every `everyMs`, which adds no event. */
    async watchSilence(input: WatchSilenceInput): Promise<SilenceVerdict> {
      const { everyMs, isSilent, tellAgainAt } = input;
      const counts = await countOrders(input.account, silenceWindowStart(input.registeredAt, everyMs, now()));
      const verdict = judgeSilence(counts, input.minOrders, isSilent);
      const reliability = await countReliability(input, ports, now());
      const isDue = verdict && tellAgainAt !== null && Date.parse(tellAgainAt) <= now();
      // The run then asks again as today's workers do. Not at the first attempt: a worker of that release would ask as before, for ever.
      const isOutdated = input.reliability === undefined && activityInfo().attempt > 1;
      if (verdict !== isSilent || isDue || reliability || isOutdated)
        return { isSilent: verdict, counts, ...(reliability && { reliability }) };
      const message = verdict ? 'Deliveries are still silent.' : 'Nothing speaks against the deliveries.';
      throw notYet(message, everyMs * (1 + random() * jitterShare));
    },
  };
}

/** What is proven by now, if that is news. */
async function countReliability(
  { account, everyMs, registeredAt, reliability }: WatchSilenceInput,
  { countAnnouncedEnds }: SilenceActivityPorts,
  now: number,
): Promise<Reliability | undefined> {
  if (!reliability) return undefined;
  const { endsPerStep } = reliability;
  // Before the run asked like this, workers of an earlier release may have told it of no miss.
  const held = reliability.held ?? noReliability(iso(activityInfo().scheduledTimestampMs));
  const terms: ReliabilityTerms = { everyMs, endsPerStep, now };
  const from = Math.max(silenceWindowStart(registeredAt, everyMs, now), Date.parse(held.watchedSince));
  const ends = isMissRecent(held, terms) ? 0 : await countAnnouncedEnds(account, from);
  const counted = reliabilityAfter(held, ends, terms);
  return isReliabilityNews(held, counted, terms) ? counted : undefined;
}
