import type { Attention, AttentionCode } from '../attention.js';
import type { SubscriptionKey } from '../workflow-ids.js';
import type { SubscriptionInput } from './input.js';

/** One subscriber as the service registered it. Times are texts as they came. */
interface RegisteredSubscriber {
  id: string;
  createdAt: string | null;
  updatedAt: string | null;
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
}

/** All that a subscription has to remember. Plain JSON, handed from run to run; no secret is in clear. */
export interface SubscriptionState extends SubscriptionKey {
  publicUrl: string;
  /** Newest first. */
  generations: SubscriptionGeneration[];
  /** What keeps us from subscribing. */
  trouble: Attention | null;
  silence: Attention | null;
  /** No request to the service before this instant. */
  notBefore: string | null;
  unclearInRow: number;
  /** When silence last made us subscribe anew. */
  resubscribedAt: string | null;
  /** Subscribers at addresses that are refused by now, and that the service was not made to forget; the newest 200. */
  stillRegistered: string[];
}

/** More addresses than this are not kept open: the memo must stay small whatever goes wrong. */
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
  notBefore: null,
  unclearInRow: 0,
  resubscribedAt: null,
  stillRegistered: [],
});

/** The address that the service is being asked to deliver to, if any. */
export const requestedGeneration = ({ generations }: SubscriptionState): SubscriptionGeneration | undefined =>
  generations.find(({ stage }) => stage === 'requested');

/** The address that is in force: registered, and replaced by no other. */
export const currentGeneration = ({ generations }: SubscriptionState): SubscriptionGeneration | undefined =>
  generations.find(({ stage, until }) => stage === 'registered' && until === null);

/** Opens a new address, which no other run of this subscription has used: it is named by the time in base 36. */
export function openGeneration(state: SubscriptionState, now: number): SubscriptionState {
  const newest = Number.parseInt(state.generations[0]?.generation ?? '0', 36);
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

/** The service has registered the requested address; all others are accepted for the grace and no longer. */
export function withSubscriber(
  state: SubscriptionState,
  { subscriber, sealedSecret }: { subscriber: RegisteredSubscriber; sealedSecret: string | null },
  { graceMs, now }: { graceMs: number; now: number },
): SubscriptionState {
  const graceEnd = now + graceMs;
  const replaced = (one: SubscriptionGeneration): SubscriptionGeneration => {
    const until = Math.min(one.until === null ? graceEnd : Date.parse(one.until), graceEnd);
    return { ...one, until: iso(until) };
  };
  const generations = state.generations.map(
    (one): SubscriptionGeneration =>
      one.stage === 'requested'
        ? { ...one, stage: 'registered', registeredAt: iso(now), subscriber, sealedSecret }
        : replaced(one),
  );
  return { ...state, generations, trouble: null, notBefore: null, unclearInRow: 0 };
}

/** Nobody knows whether the requested address was registered: it stays open, by its path alone, and the next one need
 *  not wait for what this one had to. */
export const withUnclearOutcome = (state: SubscriptionState): SubscriptionState => ({
  ...state,
  notBefore: null,
  generations: state.generations.map((one) => (one.stage === 'requested' ? { ...one, stage: 'unclear' } : one)),
});

/** What is refused from now on, and the state without it. */
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

/** The state that knows of subscribers which the service still has, though their addresses are refused. */
export function withStillRegistered(state: SubscriptionState, ids: string[]): SubscriptionState {
  const stillRegistered = [...new Set([...state.stillRegistered, ...ids])].slice(-maxStillRegistered);
  return { ...state, stillRegistered };
}

/** What the run shows: that it cannot subscribe says more than that nothing comes. */
export const attentionOf = ({ trouble, silence }: SubscriptionState): Attention | null => trouble ?? silence;

const firstPauseMs = 1_000;
/** Each unclear request may have made one more subscriber: slower in the end than what surely failed. */
const longestPauseMs = 3_600_000;
/** Shown from this many unclear outcomes in a row on; fewer are a matter of seconds. */
const unclearPatience = 3;

/** The state after a request whose outcome nobody knows. */
export function withUnclearRequest(state: SubscriptionState, message: string, now: number): SubscriptionState {
  const unclearInRow = state.unclearInRow + 1;
  const since = state.trouble?.code === 'outcomeUnknown' ? state.trouble.since : iso(now);
  const trouble = { code: 'outcomeUnknown' as const, message, since };
  const isShown = unclearInRow >= unclearPatience;
  return { ...withUnclearOutcome(state), unclearInRow, trouble: isShown ? trouble : state.trouble };
}

/** How long to wait before the next request, after so many unclear ones in a row. */
export const unclearPauseMs = ({ unclearInRow }: SubscriptionState): number =>
  Math.min(firstPauseMs * 2 ** Math.max(unclearInRow - 1, 0), longestPauseMs);

const iso = (epochMs: number): string => new Date(epochMs).toISOString();

/** One address of a subscription. */
export interface SubscriptionAddress extends SubscriptionKey {
  generation: string;
  publicUrl: string;
}

/** A request for a subscription. */
export interface CreateSubscriberInput extends SubscriptionAddress {
  /** The attention that the run shows by now. */
  shown: AttentionCode | null;
  /** No request before this ISO instant. */
  notBefore: string | null;
}

/** A subscriber at the service, and its secret as we keep it: sealed, or null when it was not told. */
export interface Registration {
  subscriber: RegisteredSubscriber;
  sealedSecret: string | null;
}

/** What became of a request for a subscription. */
export type SubscribingOutcome =
  | ({ kind: 'registered' } & Registration)
  /** It may be registered or not, and nobody knows its secret: another address has to be asked for. */
  | { kind: 'unclear'; message: string }
  /** It was not registered; `attention` says why, for a person. The same address may be asked for again. */
  | { kind: 'trouble'; attention: Attention; notBefore: string };

/** A subscriber that is not wanted any more; its id is null when nobody ever learnt it. */
export interface RemoveSubscriberInput extends SubscriptionAddress {
  subscriberId: string | null;
}

/** What became of it: `registered` when we are not let remove it, `unknown` when nobody can tell whether it exists. */
export interface RemovalOutcome {
  kind: 'removed' | 'registered' | 'unknown';
  subscriberId: string | null;
}
