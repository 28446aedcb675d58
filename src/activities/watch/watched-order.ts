/*
 * What the watch knows of one order:
 *
 *   listed by visibility ──> known ── poll ──> the same ────────────> known, until the next poll
 *   handed over by its run ──> │ ^                │
 *                              │ │                +─ something new ──> told ── handed over anew ──> known
 *       trouble of this order, │ │                                      │
 *       when it has lasted     v │ answered                             +─ the order, or its run, has ended ──> dropped
 *                            failing
 *
 * `known` is doubtful where visibility shows another status than the run has handed over: before the watch tells the run
 * anything, it asks what the run shows.
 */
import { type MonotonicClock, type WallClock, wallOffsetMs } from '../../clock.js';
import type { Account } from '../../domain/account.js';
import type { ReadTrouble } from '../../domain/failure-streak.js';
import { iso, readInstant, toEpoch } from '../../domain/instant.js';
import { jitterShare, nextReadMs } from '../../domain/order/cadence.js';
import { concernIn, isBeforePickup, isNews } from '../../domain/order/concern.js';
import { isSameStatus } from '../../domain/order/status.js';
import type { OrderReading } from '../../domain/order/trail.js';
import { msToSignal, withSignal } from '../../domain/signal-pace.js';
import type { OrderCounts } from '../../domain/subscription/state.js';
import type { NextFinding, SeenChange, ShownOrder, WatchOrderInput } from '../../domain/watch.js';
import type { FollowOrderKey } from '../../domain/workflow-ids.js';
import { createSteadyStreak, type SteadyStreak } from './trouble.js';

/** What the run of an order shows now. */
export interface Shown extends ShownOrder {
  isOpen: boolean;
  /** Does it have a pending read? */
  isPending: boolean;
}

/** The runs that follow orders, as the watch needs them. */
export interface WatchedRuns extends EarlierRuns {
  /** What the run shows, from the run itself; needs no worker. Null: Temporal has forgotten the run. */
  readShown(key: FollowOrderKey): Promise<Shown | null>;
  /** Completes the pending read of the run. False: it has none. */
  complete(key: FollowOrderKey, found: NextFinding): Promise<boolean>;
}

/** Runs of release 0.2.0, which have no pending read. Goes with 0.4.0. */
export interface EarlierRuns {
  /** What visibility does not know of an order, from its run; needs a worker. Null: the run cannot say. */
  readOrder(key: FollowOrderKey): Promise<WatchOrderInput | null>;
  /** A hint: the run reads the order. False: no run is open. */
  changeSeen(key: FollowOrderKey, seen: SeenChange): Promise<boolean>;
}

/** What all orders of an account share. */
export interface WatchParts {
  account: Account;
  runs: WatchedRuns;
  /** How changes were found. */
  counts: OrderCounts;
  /** This process records changes in a store. */
  stores?: true;
  /** May a run be asked for all that it knows? Its worker may have to replay it. */
  mayAsk(): boolean;
  onHint(): void;
  now: WallClock;
  monotonic: MonotonicClock;
  random: () => number;
}

/** What a poll means: the run shows it, the run was told, or the run needs no more polls. */
export type Found = 'unchanged' | 'told' | 'ended';

/** After a finding the run hands the order over anew. If it does not, it is asked again what it shows. */
const afterTellingMs = 5_000;
/** A run that is slow to act on a finding gets the same one once in this time. */
const tellAgainMs = 60_000;

/** How an order came to the watch that its run has not handed over. */
export interface TakenOver {
  isExact: boolean;
  /** When the process before would have polled it, by the monotonic clock. */
  due: number | undefined;
}

/** One order on watch: what its run shows, as far as the watch knows. */
export class WatchedOrder {
  readonly #parts: WatchParts;
  /** Does `shown` hold all that its run knows? Not of a run of release 0.2.0 that was listed. */
  #isExact: boolean;
  /** When a poll last found what the run shows, as an instant. */
  #unchangedAt: number | null;
  readonly #streak: SteadyStreak;
  /** The last finding that the run was told, while it has not handed the order over again. `at`: by the monotonic clock. */
  #told: { about: string; at: number } | null = null;
  /** When the run was told of findings. */
  #toldAt: number[] = [];
  /** No poll before this instant, because of trouble of this order. */
  #notBefore = Number.NEGATIVE_INFINITY;
  /** Visibility says that the run shows something else. */
  isDoubtful = false;
  /** By the monotonic clock. */
  readonly addedAt: number;
  /** The wall clock minus the monotonic one, at that moment. */
  readonly #offsetMs: number;
  shown: WatchOrderInput;
  /** When to poll it, by the monotonic clock. */
  due: number;

  /** Without `taken` the run has just handed it over. */
  constructor(shown: WatchOrderInput, parts: WatchParts, taken?: TakenOver, before?: WatchedOrder) {
    this.#parts = parts;
    this.shown = shown;
    this.#isExact = taken?.isExact ?? true;
    this.addedAt = parts.monotonic();
    this.#offsetMs = wallOffsetMs(parts);
    this.#streak = createSteadyStreak(parts);
    this.#unchangedAt = taken ? null : parts.now();
    // If nobody knows when it was read last: at once, in random order, or the same ones would come last each time.
    this.due = taken ? (taken.due ?? this.addedAt - parts.random() * 1_000) : this.nextDue();
    if (before) this.#succeed(before);
  }

  /** The run hands over an order that is here already. */
  #succeed(before: WatchedOrder): void {
    const { rawStatus, attention, pushed } = this.shown;
    this.#toldAt = before.#toldAt;
    if (attention !== null && attention === before.shown.attention) this.due = Math.max(this.due, before.#notBefore);
    if (pushed && !isSameStatus(rawStatus, before.shown.rawStatus)) this.#parts.counts.delivered += 1;
  }

  /**
   * The wall clock, corrected for steps since the order was added: a step changes neither the age of a status nor the
   * pace.
   */
  #steadyNow(): number {
    return this.#offsetMs + this.#parts.monotonic();
  }

  nextDue(found: Found = 'unchanged'): number {
    const { account, monotonic, random } = this.#parts;
    const { rawStatus: status, pushed, scheduledAt } = this.shown;
    const began = Date.parse(this.shown.since);
    const since = this.#isExact ? began : Math.max(this.#offsetMs + this.addedAt, began);
    const order = { status, since, scheduledAt: toEpoch(scheduledAt), pushed, now: this.#steadyNow() };
    const paceMs = nextReadMs(order, account.poll) * (1 + random() * jitterShare);
    return monotonic() + (found === 'told' ? Math.min(paceMs, afterTellingMs) : paceMs);
  }

  /** Tells the run what a poll has found, if it shows something else. */
  async compare(reading: OrderReading): Promise<Found> {
    this.#streak.end();
    // A run that has moved meanwhile may have left the status at which the order is again.
    const mayHaveMoved = this.#told !== null || this.isDoubtful || (this.shown.pushed && this.#isOther(reading));
    if (mayHaveMoved && !(await this.#update())?.isOpen) return this.#end(reading, this.shown.pushed);
    if (!this.#isExact && (await this.#isUnsure(reading))) return 'unchanged';
    if (this.#isOther(reading)) return await this.#tellReading(reading);
    this.#told = null;
    this.#unchangedAt = this.#parts.now();
    return 'unchanged';
  }

  /** When to poll the order again. Tells the run of trouble of this order alone that has lasted. */
  async suffer(trouble: ReadTrouble): Promise<number | 'ended'> {
    const { streak, again, isToRaise } = this.#streak.add(trouble, this.shown.attention);
    if (isToRaise) {
      const { code, message, since, notBefore } = streak;
      const attention = { code, message, since };
      const found = { kind: 'trouble' as const, attention, notBefore, reads: 0, comparedWith: this.#comparedWith };
      const seen = { streak, unchangedAt: null };
      const told = await this.#tell(code, found, seen, () => this.shown.attention !== code);
      if (told === 'ended') return told;
      if (told === 'told' || told === 'hinted') this.shown = { ...this.shown, attention: code };
    }
    this.#notBefore = again;
    return again;
  }

  /** An order on watch has been read. */
  get #comparedWith(): string {
    return this.shown.rawStatus ?? '';
  }

  #end({ terminal }: OrderReading, isAnnounced: boolean): 'ended' {
    if (terminal && !isAnnounced) this.#parts.counts.read += 1;
    return 'ended';
  }

  async #tellReading(read: OrderReading): Promise<Found> {
    const { account, now, stores } = this.#parts;
    const unchangedAt = this.#unchangedAt === null ? null : iso(this.#unchangedAt);
    const at = iso(now());
    const reading = { ...read, concern: concernIn(read, this.#steadyNow(), this.shown, account.watch) };
    const seen = { kind: 'reading' as const, reading, at, reads: 0, comparedWith: this.#comparedWith, unchangedAt };
    const found = stores ? { ...seen, stores } : seen;
    const about = [read.status, read.details?.scheduledAt, reading.concern?.code, this.shown.rawStatus].join();
    const told = await this.#tell(about, found, { streak: null, unchangedAt }, () => this.#isOther(read));
    if (told === 'ended') return this.#end(read, this.shown.pushed);
    return told === 'told' && read.terminal ? this.#end(read, false) : 'told';
  }

  /** Asks the run what it shows. */
  async #update(): Promise<Shown | null> {
    const { runs, counts } = this.#parts;
    const { shown } = this;
    const run = await runs.readShown(shown);
    if (run === null) return null;
    const { rawStatus, attention, pushed, since, scheduledAt, followedSince, isExact } = run;
    const hasMoved = !isSameStatus(rawStatus, shown.rawStatus);
    if (hasMoved && pushed) counts.delivered += 1;
    this.shown = { ...shown, rawStatus, attention, pushed };
    if (isExact) Object.assign(this.shown, { since, scheduledAt, followedSince });
    else if (hasMoved) this.shown.since = iso(this.#steadyNow());
    this.#isExact ||= isExact;
    this.isDoubtful = false;
    return run;
  }

  #isOther(reading: OrderReading): boolean {
    return isNews(reading, this.#steadyNow(), this.shown, this.#parts.account.watch);
  }

  /**
   * Completes the pending read of the run. `paused`: the run was told so often that the next time must wait, or need
   * not be told. `hinted`: it has no pending read. `isOther`: the run shows something else than was found.
   */
  async #tell(
    about: string,
    found: NextFinding,
    seen: SeenChange,
    isOther: () => boolean,
  ): Promise<'told' | 'paused' | 'hinted' | 'ended'> {
    const { runs, monotonic } = this.#parts;
    if (this.#told?.about === about) {
      if (monotonic() - this.#told.at < tellAgainMs) return 'paused';
      this.#isExact = false; // the run does not see it so
    }
    if (msToSignal(this.#toldAt, monotonic()) > 0) return 'paused';
    this.#toldAt = withSignal(this.#toldAt, monotonic()); // one whose answer is lost may have arrived
    if (await runs.complete(this.shown, found)) {
      this.#told = { about, at: monotonic() };
      return 'told';
    }
    const run = await this.#update();
    if (!run?.isOpen) return 'ended';
    if (run.isPending || !isOther()) return 'paused'; // another process has told the run, or it has read the order
    return await this.#hint(about, seen);
  }

  /** For a run of release 0.2.0, and for one that is slow to act on a finding. */
  async #hint(about: string, seen: SeenChange): Promise<'hinted' | 'ended'> {
    const { runs, monotonic, onHint } = this.#parts;
    if (!(await runs.changeSeen(this.shown, seen))) return 'ended';
    this.#told = { about, at: monotonic() };
    onHint();
    return 'hinted';
  }

  /** Asks the run for what visibility does not know, where that may matter. True: the run cannot say, so nothing may follow from it. */
  async #isUnsure(reading: OrderReading): Promise<boolean> {
    const { runs, mayAsk } = this.#parts;
    const pickup = readInstant(reading.details?.scheduledAt);
    if (pickup !== undefined) this.shown = { ...this.shown, scheduledAt: pickup };
    if (reading.terminal || !isSameStatus(reading.status, this.shown.rawStatus)) return false;
    const isOther = this.#isOther(reading);
    if (!isOther && (pickup !== undefined || !isBeforePickup(reading.status))) return false;
    const shown = mayAsk() ? await runs.readOrder(this.shown) : null;
    if (shown === null) return isOther;
    this.shown = { ...this.shown, ...shown };
    this.#isExact = true;
    return false;
  }
}
