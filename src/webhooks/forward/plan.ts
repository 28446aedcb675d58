import type { AccountName } from '../../domain/keys.js';
import { deliveriesPerCall } from '../delivery-port.js';
import { type GroupId, groupIdOf, type JournalKey } from '../journal/entries.js';
import type { Journal } from '../journal/journal.js';
import { type Room, type WaitReason, waitReasons } from './starts.js';

/** The result of a call for a group. `postponed`: an outage was the cause. A `WaitReason`: the account's share is used up. */
export type CallResult = 'succeeded' | 'postponed' | 'failed' | WaitReason;

/** Deliveries that are forwarded in one call, as far as the plan knows them. */
export interface Group {
  readonly id: GroupId;
  /** The key of one of its entries. */
  readonly key: JournalKey;
  /** The numbers of its entries, oldest first. */
  readonly seqs: number[];
  /** In a row. */
  failures: number;
  state: GroupState;
}

/**
 * Where a group is:
 *
 *     ready -> inFlight -> gone, or ready again if deliveries are left
 *                       -> resting after a failure, then ready
 *                       -> newOrders or parked: it waits for a share of its account, then ready
 */
type GroupState = 'ready' | 'inFlight' | 'resting' | WaitReason;

/** Chooses the group that is forwarded next: the one that has been ready longest. */
export interface ForwardPlan {
  /** The journal has a new entry; null: it may hold other entries than the plan knows. */
  noteAppend(key: JournalKey | null): void;
  /** The next group, now in flight. Throws if the journal cannot be read; the plan then loses nothing. */
  take(): Group | undefined;
  /** The group is no longer in flight, and these of its oldest entries are gone from the journal. */
  over(group: Group, result: CallResult, gone?: readonly JournalKey[]): void;
  inFlight(): number;
  /** Makes groups ready whose rest is over, and as many waiting ones as there is room for. */
  tick(room: Room): void;
  /** How many deliveries of the account wait for a share. */
  waiting(reason: WaitReason, account: AccountName): number;
  /** The same for each account that has some. */
  allWaiting(): readonly { reason: WaitReason; account: AccountName; deliveries: number }[];
  /** Will there be more to do later? */
  hasMore(): boolean;
}

/** A bound for memory. The plan finds further groups in the journal later. */
const mostReady = 10_000;
/** The plan reads on in the journal when fewer groups are ready. */
const enoughReady = 1_000;
/** These take a millisecond or two. The same thread takes deliveries, so they must not take longer. */
const scansAtOnce = 4;
const keysPerScan = 500;
/** After the first failure; each further one doubles it. */
const firstRestMs = 1_000;
const longestRestMs = 30_000;

/** The keys of the oldest entries of a group, as many as one call carries. */
export const oldestOf = ({ seqs, key: [, account, eventType, orderId] }: Group): JournalKey[] =>
  seqs.slice(0, deliveriesPerCall).map((seq) => [seq, account, eventType, orderId]);

/** Costs eight bytes of memory per known entry, and a few hundred per group. `random`: 0 up to 1. */
export function createPlan(
  journal: Pick<Journal, 'keysAfter'>,
  now: () => number,
  random: () => number = Math.random,
): ForwardPlan {
  const groups = new Map<GroupId, Group>();
  const ready = new Set<Group>();
  /** With the instant at which the rest is over. */
  const resting = new Map<Group, number>();
  const waiting = createWaitingGroups();
  let inFlight = 0;
  let knownTo = 0; // the number of the last known entry
  let isBehind = true; // the journal has entries that the plan has not read

  function makeReady(group: Group): void {
    group.state = 'ready';
    ready.add(group);
  }

  function know(key: JournalKey): void {
    const id = groupIdOf(key);
    const group = groups.get(id) ?? { id, key, seqs: [], failures: 0, state: 'ready' };
    groups.set(id, group);
    waiting.release(group); // the new delivery may be about a run that somebody has started meanwhile
    [knownTo] = key;
    group.seqs.push(knownTo);
    if (group.state === 'ready') ready.add(group);
  }

  return {
    noteAppend(key) {
      if (key === null) {
        for (const known of [groups, ready, resting, waiting]) known.clear();
        [knownTo, isBehind] = [0, true];
        return;
      }
      isBehind ||= ready.size >= mostReady;
      const isFound = key[0] <= knownTo; // the plan may read the entry before the journal names it
      if (!isBehind && !isFound) know(key);
    },
    take() {
      for (let scans = 0; scans < scansAtOnce && isBehind && ready.size < enoughReady; scans += 1) {
        const keys = journal.keysAfter(knownTo, keysPerScan);
        isBehind = keys.length === keysPerScan;
        keys.forEach(know);
      }
      const [group] = ready;
      if (group === undefined) return undefined;
      ready.delete(group);
      group.state = 'inFlight';
      inFlight += 1;
      return group;
    },
    over(group, result, gone = []) {
      inFlight -= 1;
      removeFrom(group, gone);
      if (groups.get(group.id) !== group) return; // the journal was reopened, and the plan has read its entries anew
      if (group.seqs.length === 0) return void groups.delete(group.id);
      if (result === 'succeeded') group.failures = 0;
      if (result === 'failed') {
        group.state = 'resting';
        resting.set(group, now() + restMs(group.failures, random()));
        group.failures += 1;
      } else if (result === 'succeeded' || result === 'postponed') makeReady(group);
      else waiting.add(group, result);
    },
    inFlight: () => inFlight,
    tick(room) {
      for (const [group, until] of resting) {
        if (until > now()) continue;
        resting.delete(group);
        makeReady(group);
      }
      for (const group of waiting.takeNewest(room)) makeReady(group);
    },
    waiting: waiting.deliveries,
    allWaiting: waiting.all,
    hasMore: () => resting.size > 0 || isBehind || !waiting.isEmpty(),
  };
}

/** `share`: 0 up to 1. A rest lasts at least half of its time. */
const restMs = (failures: number, share: number): number =>
  Math.min(longestRestMs, firstRestMs * 2 ** Math.min(failures, 10)) * (0.5 + share / 2);

function removeFrom({ seqs }: Group, keys: readonly JournalKey[]): void {
  const gone = new Set(keys.map(([seq]) => seq));
  const left = seqs.splice(0, deliveriesPerCall).filter((seq) => !gone.has(seq));
  seqs.unshift(...left);
}

/** The groups that wait for a share, by reason and account. */
function createWaitingGroups() {
  type Queue = { groups: Set<Group>; deliveries: number };
  const queues: Record<WaitReason, Map<AccountName, Queue>> = { newOrders: new Map(), parked: new Map() };

  function release(group: Group): void {
    if (group.state !== 'newOrders' && group.state !== 'parked') return;
    const { state, seqs } = group;
    const [, account] = group.key;
    group.state = 'ready';
    const queue = queues[state].get(account);
    if (!queue?.groups.delete(group)) return;
    queue.deliveries -= seqs.length;
    if (queue.groups.size === 0) queues[state].delete(account);
  }

  const all = () =>
    waitReasons.flatMap((reason) => [...queues[reason]].map(([account, queue]) => ({ reason, account, ...queue })));

  return {
    all,
    release,
    add(group: Group, reason: WaitReason): void {
      group.state = reason;
      const [, account] = group.key;
      const queue = queues[reason].get(account) ?? { groups: new Set(), deliveries: 0 };
      queue.groups.add(group);
      queue.deliveries += group.seqs.length;
      queues[reason].set(account, queue);
    },
    /** Takes the newest out, as many as there is room for. They are the likeliest to be real once a flood of invented orders is over. */
    takeNewest: (room: Room): Group[] =>
      all().flatMap(({ reason, account, groups }) => {
        const free = room(reason, account);
        const due = free > 0 ? [...groups].slice(-Math.min(free, groups.size)).reverse() : [];
        due.forEach(release);
        return due;
      }),
    deliveries: (reason: WaitReason, account: AccountName): number => queues[reason].get(account)?.deliveries ?? 0,
    isEmpty: () => waitReasons.every((reason) => queues[reason].size === 0),
    clear: () => {
      for (const reason of waitReasons) queues[reason].clear();
    },
  };
}
