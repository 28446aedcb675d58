import type { Attention } from '../attention.js';
import type { FailureStreak, ReadTrouble } from '../failure-streak.js';
import { iso, PublishedInstantSchema } from '../instant.js';
import * as s from '../schema.js';
import type { SubscriptionKey } from '../workflow-ids.js';
import { numberOfGeneration, type SilenceWatch, type SubscriptionInput, silenceWatchOf } from './subscription.js';

const ChangeCountsSchema = s.answerOf({
  // Orders whose end a poll found, and no delivery announced.
  read: s.wholeNumber(0),
  // Changes that a delivery announced.
  delivered: s.wholeNumber(0),
  from: PublishedInstantSchema,
});
/** First form of the argument of `changesCounted`: what the watch counted since the ISO instant `from`. */
export type ChangeCounts = s.Read<typeof ChangeCountsSchema>;
/** How the watch of the account found the changes of its orders. */
export type OrderCounts = Omit<ChangeCounts, 'from'>;

/** Reads that form, which any program may send; null for anything else. */
export const readChangeCounts = (value: unknown): ChangeCounts | null => s.readOr(ChangeCountsSchema, value, null);

/** One subscriber as the service registered it. Times are texts as they came: a `Date` does not hold fractions with nine digits. */
export interface RegisteredSubscriber {
  id: string;
  createdAt: string | null;
  updatedAt: string | null;
}

/** What a run knows of the signature of an address's deliveries. */
export interface GenerationProof {
  /** Name of the header, in lower case. */
  header: string;
  /** ISO instant of the first verified delivery. */
  at: string;
  /** ISO instant up to which a delivery was verified, by the reports. */
  until: string;
  /** Refused deliveries since then. */
  refused: number;
}

/** One address that we have asked, or ask, the service to deliver to. */
export interface SubscriptionGeneration {
  /** Matches `generationPattern`; younger ones sort after older ones of the same length. */
  generation: string;
  publicUrl: string;
  /** ISO instant from which deliveries are accepted there: before the service is asked. */
  openedAt: string;
  /** ISO instant at which the service answered that it will deliver there. */
  registeredAt: string | null;
  /** `requested`: no answer yet. `unclear`: an answer was lost, so it may be registered. */
  stage: 'requested' | 'registered' | 'unclear';
  subscriber: RegisteredSubscriber | null;
  /** Null where the answer that told it was lost or lacked it. */
  sealedSecret: string | null;
  /** ISO instant from which it is refused; null while nothing has replaced it. */
  until: string | null;
  /** Absent: no delivery there has been verified yet. */
  proof?: GenerationProof;
}

/** The state of a subscription. Plain JSON, handed from run to run; no secret is in clear. */
export interface SubscriptionState extends SubscriptionKey {
  publicUrl: string;
  /** Newest first. */
  generations: SubscriptionGeneration[];
  /** What keeps us from subscribing. */
  trouble: Attention | null;
  silence: Attention | null;
  /** Deliveries come, and none is verified. */
  unverified?: Attention;
  /** Failed requests in a row; null: the last one did not surely fail. */
  streak: FailureStreak | null;
  /** The number of the last request, in the whole chain of runs. */
  requests: number;
  unclearInRow: number;
  /** What the watch of the account has counted; those that matter. */
  counts: ChangeCounts[];
  /** When silence last made the run subscribe again. */
  resubscribedAt: string | null;
  /** Subscribers that the service still has although the ingress refuses their addresses; the newest 200. */
  stillRegistered: string[];
  /** How many more it may have: requests with an unclear outcome whose addresses have ended. Absent: none. */
  unclearEnded?: number;
}

/** No more addresses are kept open, so that the memo stays small. */
const maxGenerations = 100;
const maxStillRegistered = 200;

/** The state before the first request. */
export const openSubscription = ({ account, eventType, publicUrl }: SubscriptionInput): SubscriptionState => ({
  account,
  eventType,
  publicUrl,
  generations: [],
  trouble: null,
  silence: null,
  streak: null,
  requests: 0,
  unclearInRow: 0,
  counts: [],
  resubscribedAt: null,
  stillRegistered: [],
});

/** The address that the service is being asked to deliver to, if any. */
export const requestedGeneration = ({ generations }: SubscriptionState): SubscriptionGeneration | undefined =>
  generations.find(({ stage }) => stage === 'requested');

/** The address in force: registered, and not replaced. */
export const currentGeneration = ({ generations }: SubscriptionState): SubscriptionGeneration | undefined =>
  generations.find(({ stage, until }) => stage === 'registered' && until === null);

/** Opens a new address. Its name is the time in base 36, which no other run of this subscription has used. */
export function openGeneration(state: SubscriptionState, now: number): SubscriptionState {
  const newest = numberOfGeneration(state.generations[0]?.generation ?? '0');
  const opened: SubscriptionGeneration = {
    generation: Math.max(now, newest + 1).toString(36),
    publicUrl: state.publicUrl,
    openedAt: iso(now),
    registeredAt: null,
    stage: 'requested',
    subscriber: null,
    sealedSecret: null,
    until: null,
  };
  return { ...state, generations: [opened, ...state.generations] };
}

/** The state after the service has registered the requested address; all others are accepted for the grace and no longer. */
export function withSubscriber(
  state: SubscriptionState,
  { subscriber, sealedSecret }: Registration,
  { graceMs, now }: { graceMs: number; now: number },
): SubscriptionState {
  const graceEnd = now + graceMs;
  const generations = state.generations.map(
    (one): SubscriptionGeneration =>
      one.stage === 'requested'
        ? { ...one, stage: 'registered', registeredAt: iso(now), subscriber, sealedSecret }
        : { ...one, until: iso(one.until === null ? graceEnd : Math.min(Date.parse(one.until), graceEnd)) },
  );
  return { ...withUnverified(state, null), generations, trouble: null, streak: null, unclearInRow: 0 };
}

/** The service may have registered the requested address, so it stays open, checked by its path alone. The next request need not
 *  wait. */
export const withUnclearOutcome = (state: SubscriptionState): SubscriptionState => ({
  ...state,
  streak: null,
  generations: state.generations.map((one) => (one.stage === 'requested' ? { ...one, stage: 'unclear' } : one)),
});

/** The addresses that end now, and the state without them. */
export function withoutEnded(
  state: SubscriptionState,
  now: number,
): { state: SubscriptionState; ended: SubscriptionGeneration[] } {
  const current = currentGeneration(state);
  const isEnded = (one: SubscriptionGeneration, index: number) =>
    (index >= maxGenerations && one !== current) || (one.until !== null && Date.parse(one.until) <= now);
  const ended = state.generations.filter(isEnded);
  if (ended.length === 0) return { state, ended };
  return { state: { ...state, generations: state.generations.filter((one) => !ended.includes(one)) }, ended };
}

/** When the next address ends, in milliseconds since the epoch; undefined while none is going to. */
export function nextEnd({ generations }: SubscriptionState): number | undefined {
  const ends = generations.flatMap(({ until }) => (until === null ? [] : [Date.parse(until)]));
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** Adds what the removals of addresses that the ingress refuses have left at the service. */
export function withLeftovers(state: SubscriptionState, removals: readonly RemovalOutcome[]): SubscriptionState {
  const ids = removals.flatMap(({ kind, subscriberId }) =>
    kind === 'registered' && subscriberId ? [subscriberId] : [],
  );
  const stillRegistered = [...new Set([...state.stillRegistered, ...ids])].slice(-maxStillRegistered);
  const unclear = (state.unclearEnded ?? 0) + removals.filter(({ kind }) => kind === 'unknown').length;
  return { ...state, stillRegistered, ...(unclear > 0 && { unclearEnded: unclear }) };
}

/** Absent rather than null, so that runs of 0.2.0 replay to the letter. */
export function withUnverified(state: SubscriptionState, unverified: Attention | null): SubscriptionState {
  const { unverified: _, ...others } = state;
  return unverified === null ? others : { ...others, unverified };
}

/** The attention that the run publishes. Trouble with subscribing and refused deliveries explain silence, so they come first. */
export const attentionOf = ({ trouble, unverified, silence }: SubscriptionState): Attention | null =>
  trouble ?? unverified ?? silence;

/** The window in which counts matter is so many times as long as the watch of the subscription says: a day. */
const windowLooks = 24;
/** Orders that start right after a subscription may have changed before it counted. */
const longestSettlingMs = 60_000;
const dayMs = 86_400_000;

/**
 * Judges, by what the watch of the account counted, whether deliveries fail to come. Counts matter within the window, and under the newest
 * address. Too few orders prove nothing, so the last verdict stands.
 */
export function withCounts(
  state: SubscriptionState,
  input: SubscriptionInput,
  counted: readonly ChangeCounts[],
  now: number,
): SubscriptionState {
  const registeredAt = currentGeneration(state)?.registeredAt;
  if (!registeredAt || state.eventType !== 'status_changed' || counted.length === 0) return state;
  const watch = silenceWatchOf(input);
  const { everyMs, minOrders } = watch;
  const settledAt = Date.parse(registeredAt) + Math.min(longestSettlingMs, everyMs);
  const start = iso(Math.max(now - windowLooks * everyMs, settledAt));
  const counts = [...state.counts, ...counted].filter(({ from }) => from >= start);
  const read = counts.reduce((sum, one) => sum + one.read, 0);
  const isSilent = counts.every(({ delivered }) => delivered === 0) && (read >= minOrders || state.silence !== null);
  return { ...state, counts, silence: isSilent ? silenceOf(read, watch, state.silence?.since ?? iso(now)) : null };
}

const silenceOf = (read: number, { everyMs }: SilenceWatch, since: string): Attention => ({
  code: 'subscriptionSilent',
  message:
    `Deliveries do not come: ${read} orders ended unannounced within ${Math.round((windowLooks * everyMs) / 60_000)} minutes. ` +
    'Orders are read on, faster. Check that the service reaches the public URL, then rotate the subscription.',
  since,
});

/** Is it time for a new subscription because of silence? At most once a day. */
export const isResubscriptionDue = (
  { silence, resubscribedAt }: SubscriptionState,
  { resubscribe }: SubscriptionInput,
  now: number,
): boolean =>
  resubscribe === true && silence !== null && (resubscribedAt === null || now >= Date.parse(resubscribedAt) + dayMs);

const firstPauseMs = 1_000;
/** Longer than after failed requests, since each unclear request may have made one more subscriber. */
const longestPauseMs = 3_600_000;
/** The run shows this many unclear outcomes in a row; fewer take only seconds. */
const unclearPatience = 3;

/** The state after a request with an unclear outcome. */
export function withUnclearRequest(state: SubscriptionState, message: string, now: number): SubscriptionState {
  const unclearInRow = state.unclearInRow + 1;
  const since = state.trouble?.code === 'outcomeUnknown' ? state.trouble.since : iso(now);
  const trouble = { code: 'outcomeUnknown' as const, message, since };
  const isShown = unclearInRow >= unclearPatience;
  return { ...withUnclearOutcome(state), unclearInRow, trouble: isShown ? trouble : state.trouble };
}

/** The pause before the next request, after unclear ones. */
export const unclearPauseMs = ({ unclearInRow }: SubscriptionState): number =>
  Math.min(firstPauseMs * 2 ** Math.max(unclearInRow - 1, 0), longestPauseMs);

/** One address of a subscription. */
export interface SubscriptionAddress extends SubscriptionKey {
  generation: string;
  publicUrl: string;
}

/** A request for a subscription. */
export interface CreateSubscriberInput extends SubscriptionAddress {
  /** Two requests of the chain of runs have the same one only if the first was surely not sent. */
  number: number;
}

/** A subscriber at the service and its sealed secret; null if the service did not send it. */
export interface Registration {
  subscriber: RegisteredSubscriber;
  sealedSecret: string | null;
}

/** What became of a request for a subscription. */
export type SubscribingOutcome =
  | ({ kind: 'registered' } & Registration)
  /** The service may have registered it, and its secret is lost: the run must ask for another address. */
  | { kind: 'unclear'; message: string }
  /**
   * The service surely did not register it. The run may request the same address again. `isUnclaimed`: this activity has
   * not claimed the number of its request, which another one may have claimed before a reset of the run. Releases up to
   * 0.2.0 do not say it.
   */
  | { kind: 'trouble'; trouble: ReadTrouble; isUnclaimed?: true };

/** A subscriber to remove; its id is null if it is unknown. */
export interface RemoveSubscriberInput extends SubscriptionAddress {
  subscriberId: string | null;
}

/** `registered`: the contract profile does not allow the removal. `unknown`: it may not exist. */
export interface RemovalOutcome {
  kind: 'removed' | 'registered' | 'unknown';
  subscriberId: string | null;
}
