import { type MonotonicClock, type WallClock, wallOffsetMs } from '../../clock.js';
import type { Account } from '../../domain/account.js';
import { type AttentionCode, toConcernCode } from '../../domain/attention.js';
import type { ReadTrouble } from '../../domain/failure-streak.js';
import { iso, readInstant, toEpoch } from '../../domain/instant.js';
import { jitterShare, nextReadMs } from '../../domain/order/cadence.js';
import { isBeforePickup, isNews } from '../../domain/order/concern.js';
import { isSameStatus } from '../../domain/order/status.js';
import type { OrderReading } from '../../domain/order/trail.js';
import { msToSignal, withSignal } from '../../domain/signal-pace.js';
import type { OrderCounts } from '../../domain/subscription/state.js';
import type { SeenChange, WatchOrderInput } from '../../domain/watch.js';
import type { FollowOrderKey } from '../../domain/workflow-ids.js';
import { createSteadyStreak, type SteadyStreak } from './steady-streak.js';

/** What the run of an order shows now. */
export interface Shown {
  isOpen: boolean;
  /** Empty if there is none. */
  runId: string;
  /** Null before the first read. */
  status: string | null;
  attention: AttentionCode | null;
  /** Did a delivery lead to the status? */
  isAnnounced: boolean;
}

/** The runs that follow orders, as the watch needs them. */
export interface WatchedRuns {
  /** What the run shows, from the run itself; needs no worker. A run that Temporal has forgotten is not open. */
  readShown(key: FollowOrderKey): Promise<Shown>;
  /** What visibility does not know of an order, from its run; needs a worker. Null: the run cannot say. */
  readOrder(key: FollowOrderKey): Promise<WatchOrderInput | null>;
  /** A hint. False: no run is open. */
  changeSeen(key: FollowOrderKey, seen: SeenChange): Promise<boolean>;
}

/** What all orders of an account share. */
export interface WatchParts {
  account: Account;
  runs: WatchedRuns;
  /** How changes were found. */
  counts: OrderCounts;
  /** May a run be asked for all that it knows? Its worker may have to replay it. */
  mayAsk(): boolean;
  onHint(): void;
  now: WallClock;
  monotonic: MonotonicClock;
  random: () => number;
}

/** What a poll means: the run shows it, shows it by now, has got a hint, or is no longer open. */
export type Found = 'unchanged' | 'known' | 'hinted' | 'ended';

/** After a hint the run is asked again whether it has ended or shows the change. */
const afterHintMs = 5_000;
/** A run that is slow to read gets a hint once in this time. */
const hintAgainMs = 60_000;

/** One order on watch: what its run shows, as far as the watch knows. */
export class WatchedOrder {
  readonly #parts: WatchParts;
  /** Is `shown` from the run? Visibility knows neither when a status began nor a pick-up time. */
  #isExact: boolean;
  /** When a poll last found what the run shows, as an instant. */
  #unchangedAt: number | null;
  readonly #streak: SteadyStreak;
  /** The last hint, until the run shows what a poll finds. `at`: by the monotonic clock. */
  #hint: { about: string; at: number } | null = null;
  /** When the last hints went. */
  #hintedAt: number[] = [];
  /** Visibility says that the run shows something else. */
  isDoubtful = false;
  /** By the monotonic clock. */
  readonly addedAt: number;
  /** The wall clock minus the monotonic one, at that moment. */
  readonly #offsetMs: number;
  shown: WatchOrderInput;
  /** When to poll it, by the monotonic clock. */
  due: number;

  constructor(shown: WatchOrderInput, isExact: boolean, parts: WatchParts) {
    this.#parts = parts;
    this.shown = shown;
    this.#isExact = isExact;
    this.addedAt = parts.monotonic();
    this.#offsetMs = wallOffsetMs(parts);
    this.#streak = createSteadyStreak(parts);
    this.#unchangedAt = isExact ? parts.now() : null;
    // Nobody knows when an order that is taken over was read last. In random order, or the same ones would come last each time.
    this.due = isExact ? this.nextDue() : this.addedAt - parts.random() * 1_000;
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
    return monotonic() + (found === 'hinted' ? Math.min(paceMs, afterHintMs) : paceMs);
  }

  /** Asks the run what it shows when a poll found something else, or the run may have moved; hints if that differs, too. */
  async compare(reading: OrderReading): Promise<Found> {
    this.#streak.end();
    // The run's own read has ended, or is about to.
    if (toConcernCode(this.shown.attention) === null) this.shown = { ...this.shown, attention: null };
    if (!this.#isExact && (await this.#isUnsure(reading))) return 'unchanged';
    // A run that has moved meanwhile may have left the status at which the order is again.
    const mayHaveMoved = this.#hint !== null || this.isDoubtful || this.shown.pushed;
    if (mayHaveMoved || this.#isOther(reading)) return await this.#compareWithRun(reading);
    this.#unchangedAt = this.#parts.now();
    return 'unchanged';
  }

  /** When to poll the order again. Trouble of this order alone that has lasted is a hint: the read of the run shows it. */
  async suffer(trouble: ReadTrouble): Promise<number | 'ended'> {
    const { attention } = this.shown;
    const { streak, again, isToRaise } = this.#streak.add(trouble, attention);
    if (isToRaise) {
      const sent = await this.#sendHint(streak.code, { streak, unchangedAt: null });
      if (sent === 'ended') return sent;
      if (sent === 'hinted') this.shown = { ...this.shown, attention: streak.code };
    }
    return again;
  }

  async #compareWithRun(reading: OrderReading): Promise<Found> {
    const { runs, counts, now } = this.#parts;
    const { shown } = this;
    const { isOpen, runId, status: rawStatus, attention, isAnnounced } = await runs.readShown(shown);
    const hasMoved = !isSameStatus(rawStatus, shown.rawStatus);
    if (hasMoved && isAnnounced) counts.delivered += 1;
    if (!isOpen) {
      if (reading.terminal && !isAnnounced) counts.read += 1;
      return 'ended';
    }
    const since = hasMoved ? iso(this.#steadyNow()) : shown.since;
    this.shown = { ...shown, rawStatus, attention, since, pushed: isAnnounced && (shown.pushed || hasMoved) };
    this.isDoubtful = false;
    if (this.#isOther(reading)) {
      const unchangedAt = this.#unchangedAt === null ? null : iso(this.#unchangedAt);
      // A run that was reset has forgotten the hint, and one that has moved since, or shows other attention, may have to go back.
      const about = [runId, rawStatus, attention].join();
      const sent = await this.#sendHint(about, { streak: null, unchangedAt });
      return sent === 'paused' ? 'hinted' : sent; // the next poll, which is soon, tries again
    }
    this.#hint = null;
    this.#unchangedAt = now();
    return hasMoved ? 'known' : 'unchanged';
  }

  #isOther(reading: OrderReading): boolean {
    return isNews(reading, this.#steadyNow(), this.shown, this.#parts.account.watch);
  }

  /** `paused`: the run has got many hints, so the next one must wait. */
  async #sendHint(about: string, seen: SeenChange): Promise<'hinted' | 'paused' | 'ended'> {
    const { runs, monotonic, onHint } = this.#parts;
    if (this.#hint?.about === about) {
      if (monotonic() - this.#hint.at < hintAgainMs) return 'hinted';
      this.#isExact = false; // the run does not see it so: it may have left the status and come back meanwhile
    }
    if (msToSignal(this.#hintedAt, monotonic()) > 0) return 'paused';
    this.#hintedAt = withSignal(this.#hintedAt, monotonic()); // one whose answer is lost may have arrived
    if (!(await runs.changeSeen(this.shown, seen))) return 'ended';
    this.#hint = { about, at: monotonic() };
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
