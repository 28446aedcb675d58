import type { MonotonicClock } from '../../clock.js';
import type { AccountName } from '../../domain/keys.js';
import { deliveriesPerCall } from '../delivery-port.js';
import type { JournalKey } from '../journal/disk.js';
import type { Journal } from '../journal/journal.js';
import { type Room, SignalsPaused, type WaitReason } from './routing.js';

/**
 * The result of a call for a group. `postponed`: an outage was the cause. A `WaitReason`: the account has used up its
 * share. `SignalsPaused`: the run has got many signals.
 */
export type CallResult = 'succeeded' | 'postponed' | 'failed' | WaitReason | SignalsPaused;

/**
 * Where a group is:
 *
 *     ready -> inFlight -> gone, or ready again if deliveries are left
 *                       -> resting after a failure, or until its run may have another signal, then ready
 *                       -> newOrders or parked: it waits for a share of its account, then ready
 */
type GroupState = 'ready' | 'inFlight' | 'resting' | WaitReason;

/** Deliveries that are forwarded in one call, as far as the plan knows them: all of one event type about one order, or one without an order. */
export interface Group {
  id: string;
  /** The key of one of its entries. */
  readonly key: JournalKey;
  /** The numbers of its entries, oldest first. */
  readonly seqs: number[];
  /** In a row. */
  failures: number;
  state: GroupState;
}

const groupIdOf = ([seq, account, eventType, orderId]: JournalKey): string =>
  JSON.stringify(orderId === '' ? [account, eventType, '', seq] : [account, eventType, orderId]);

/** The keys of the oldest entries of a group, as many as one call carries. */
export const oldestOf = ({ seqs, key: [, account, eventType, orderId] }: Group): JournalKey[] =>
  seqs.slice(0, deliveriesPerCall).map((seq) => [seq, account, eventType, orderId]);

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

/** Chooses the group that is forwarded next: the one that has been ready longest. Costs eight bytes of memory per known entry, and a few
 *  hundred per group. */
export class ForwardPlan {
  readonly #journal: Pick<Journal, 'keysAfter'>;
  readonly #monotonic: MonotonicClock;
  readonly #groups = new Map<string, Group>();
  readonly #ready = new Set<Group>();
  /** With the instant at which the rest is over. */
  readonly #resting = new Map<Group, number>();
  readonly #waiting = new WaitingGroups();
  #inFlight = 0;
  /** The number of the last known entry. */
  #knownTo = 0;
  /** The journal has entries that the plan has not read. */
  #isBehind = true;

  constructor(journal: Pick<Journal, 'keysAfter'>, monotonic: MonotonicClock) {
    this.#journal = journal;
    this.#monotonic = monotonic;
  }

  /** The journal has a new entry; null: it may hold other entries than the plan knows. */
  noteAppend(key: JournalKey | null): void {
    if (key === null) {
      for (const known of [this.#groups, this.#ready, this.#resting, this.#waiting]) known.clear();
      [this.#knownTo, this.#isBehind] = [0, true];
      return;
    }
    this.#isBehind ||= this.#ready.size >= mostReady;
    const isFound = key[0] <= this.#knownTo; // the plan may read the entry before the journal names it
    if (!this.#isBehind && !isFound) this.#know(key);
  }

  /** The next group, now in flight. Throws if the journal cannot be read; the plan then loses nothing. */
  take(): Group | undefined {
    for (let scans = 0; scans < scansAtOnce && this.#isBehind && this.#ready.size < enoughReady; scans += 1) {
      const keys = this.#journal.keysAfter(this.#knownTo, keysPerScan);
      this.#isBehind = keys.length === keysPerScan;
      for (const key of keys) this.#know(key);
    }
    const [group] = this.#ready;
    if (group === undefined) return undefined;
    this.#ready.delete(group);
    group.state = 'inFlight';
    this.#inFlight += 1;
    return group;
  }

  /** The group is no longer in flight, and these of its oldest entries are gone from the journal. */
  over(group: Group, result: CallResult, gone: readonly JournalKey[] = []): void {
    this.#inFlight -= 1;
    removeFrom(group, gone);
    if (this.#groups.get(group.id) !== group) return; // the journal was reopened, and the plan has read its entries anew
    if (group.seqs.length === 0) this.#groups.delete(group.id);
    else if (result === 'failed') this.#rest(group);
    else if (result instanceof SignalsPaused) this.#pause(group, result);
    else if (result === 'newOrders' || result === 'parked') this.#waiting.add(group, result);
    else {
      if (result === 'succeeded') group.failures = 0;
      this.#makeReady(group);
    }
  }

  inFlight = (): number => this.#inFlight;

  /** Makes groups ready whose rest is over, and as many waiting ones as there is room for. */
  tick(room: Room): void {
    for (const [group, until] of this.#resting) {
      if (until > this.#monotonic()) continue;
      this.#resting.delete(group);
      this.#makeReady(group);
    }
    for (const group of this.#waiting.takeNewest(room)) this.#makeReady(group);
  }

  /** How many deliveries wait for a share, for each account and share that has some. */
  waiting = (): readonly { reason: WaitReason; account: AccountName; deliveries: number }[] => this.#waiting.all();

  /** Will there be more to do later? */
  hasMore = (): boolean => this.#resting.size > 0 || this.#isBehind || this.#waiting.all().length > 0;

  #makeReady(group: Group): void {
    group.state = 'ready';
    this.#ready.add(group);
  }

  /** Until the run may have another signal. */
  #pause(group: Group, { runId, waitMs }: SignalsPaused): void {
    const [, , , orderId] = group.key;
    if (orderId === '') {
      // A delivery without an order is a group of its own. From the first pause on, groups for one run are merged.
      this.#groups.delete(group.id);
      const known = this.#groups.get(runId);
      if (known) {
        this.#addTo(known, group.seqs);
        return;
      }
      group.id = runId;
      this.#groups.set(runId, group);
    }
    group.state = 'resting';
    this.#resting.set(group, this.#monotonic() + waitMs);
  }

  #rest(group: Group): void {
    const restMs = Math.min(longestRestMs, firstRestMs * 2 ** Math.min(group.failures, 10));
    group.state = 'resting';
    group.failures += 1;
    // Groups that failed together try again at different times.
    this.#resting.set(group, this.#monotonic() + restMs * (0.5 + Math.random() / 2));
  }

  #know(key: JournalKey): void {
    const id = groupIdOf(key);
    const group = this.#groups.get(id) ?? { id, key, seqs: [], failures: 0, state: 'ready' };
    this.#groups.set(id, group);
    [this.#knownTo] = key;
    this.#addTo(group, [this.#knownTo]);
  }

  #addTo(group: Group, seqs: readonly number[]): void {
    this.#waiting.release(group); // the new delivery may be about a run that somebody has started meanwhile
    group.seqs.push(...seqs);
    if (group.state === 'ready') this.#ready.add(group);
  }
}

function removeFrom({ seqs }: Group, keys: readonly JournalKey[]): void {
  const gone = new Set(keys.map(([seq]) => seq));
  const left = seqs.splice(0, deliveriesPerCall).filter((seq) => !gone.has(seq));
  seqs.unshift(...left);
}

interface WaitingQueue {
  reason: WaitReason;
  account: AccountName;
  groups: Set<Group>;
  deliveries: number;
}

/** The groups that wait for a share, by reason and account. */
class WaitingGroups {
  readonly #queues = new Map<string, WaitingQueue>();

  all = (): WaitingQueue[] => [...this.#queues.values()];

  clear = (): void => this.#queues.clear();

  add(group: Group, reason: WaitReason): void {
    group.state = reason;
    const [, account] = group.key;
    const name = `${reason}/${account}`;
    const queue = this.#queues.get(name) ?? { reason, account, groups: new Set(), deliveries: 0 };
    this.#queues.set(name, queue);
    queue.groups.add(group);
    queue.deliveries += group.seqs.length;
  }

  /** No effect on a group that does not wait. */
  release(group: Group): void {
    const [, account] = group.key;
    const name = `${group.state}/${account}`;
    const queue = this.#queues.get(name);
    if (!queue?.groups.delete(group)) return;
    group.state = 'ready';
    queue.deliveries -= group.seqs.length;
    if (queue.groups.size === 0) this.#queues.delete(name);
  }

  /** Takes the newest out, as many as there is room for. They are the likeliest to be real once a flood of invented orders is over. */
  takeNewest(room: Room): Group[] {
    return this.all().flatMap(({ reason, account, groups }) => {
      const free = room(reason, account);
      const due = free > 0 ? [...groups].slice(-Math.min(free, groups.size)).reverse() : [];
      for (const group of due) this.release(group);
      return due;
    });
  }
}
