import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isConcernCode } from '../../../src/domain/attention.js';
import { isNews } from '../../../src/domain/order/concern.js';
import { isSameStatus } from '../../../src/domain/order/status.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { isLong } from '../../support/long.js';
import { createRandom } from '../../support/random.js';
import { readingOf } from '../attempts.js';
import { apiError } from '../service.js';
import { iso, minute, second } from '../temporal.js';
import { account, inputOf } from './runs.js';
import { ended, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

const random = createRandom();

useOwnTime();

const unknown = apiError('ORDER_UNKNOWN', undefined, 'not_found');
const down = new RideApiUnreachable('NO_CONNECTION', 'https://partner.example');
const orderIds = ['1', '2', '3', '4'];
const words = ['Routing', 'Confirmed', 'Waiting', 'Driving', 'CareReq', 'On hold'];

const kind = <K extends string, F>(weight: number, name: K, fields: { [P in keyof F]: fc.Arbitrary<F[P]> }) => ({
  weight,
  arbitrary: fc.record({ do: fc.constant(name), ...fields }) as fc.Arbitrary<{ do: K } & F>,
});
const order = fc.constantFrom(...orderIds);
const word = fc.constantFrom(...words);
const is = fc.boolean();
const step = fc.oneof(
  kind(6, 'change', { order, word }),
  kind(2, 'detour', { order, word, isAnnounced: fc.boolean(), ms: fc.integer({ min: 1, max: 15_000 }) }),
  kind(1, 'end', { order }),
  kind(4, 'delivery', { order }),
  kind(1, 'stop', { order }),
  kind(3, 'follow', { order, isPending: is }),
  kind(2, 'trouble', { order, is }),
  kind(1, 'takeOver', {}),
  kind(1, 'slowRuns', { is }),
  kind(1, 'busyRuns', { is }),
  kind(1, 'noTemporal', { is }),
  kind(1, 'noService', { is }),
  kind(8, 'wait', { ms: fc.integer({ min: 1, max: 120_000 }) }),
  kind(1, 'wait', { ms: fc.constantFrom(20 * minute, 40 * minute) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type Acts = { [K in Step['do']]: (step: Extract<Step, { do: K }>) => unknown };

const listEveryMs = 9 * minute;
const settleMs = 2 * minute;

/** Orders, their runs and the watch, with what must always be true of them. */
class World {
  stage = this.newStage();
  problems: string[] = [];
  private isServiceDown = false;
  /** Orders that the service does not know for a while. */
  private readonly unreadable = new Set<string>();
  /** Orders about which deliveries have come. */
  private readonly announced = new Set<string>();
  private readonly closed = new Map<string, { at: number; latest: number }>();
  private readonly addedAt = new Map<string, number>();
  private lists: ReturnType<typeof setTimeout> | undefined;
  private downAt: number | undefined;
  private downMs = 0;

  constructor() {
    this.list(listEveryMs);
  }

  private newStage(before?: WatchStage): WatchStage {
    const stage = new WatchStage({ random });
    if (before) stage.succeed(before);
    else stage.readAfterMs = second;
    stage.refuse = (orderId) => {
      if (this.isServiceDown) throw down;
      if (this.unreadable.has(orderId)) throw unknown;
    };
    stage.onPoll = (orderId) => this.checkPoll(orderId);
    stage.onTold = (orderId) => this.checkNews(orderId);
    return stage;
  }

  /** Visibility is listed each nine minutes; soon again if Temporal does not answer. */
  private list(inMs: number): void {
    this.lists = setTimeout(() => {
      const listed = this.stage.isTemporalDown ? Promise.reject(new Error('down')) : this.stage.adopt();
      listed.then(
        () => this.list(listEveryMs),
        () => this.list(second),
      );
    }, inMs);
  }

  /** No order whose run has ended is polled for more than ten minutes, unless Temporal could not be asked. */
  private checkPoll(orderId: string): void {
    const run = this.closed.get(orderId);
    const down = this.downMs + (this.downAt === undefined ? 0 : Date.now() - this.downAt);
    if (run && Date.now() > run.latest + down)
      this.problems.push(`${orderId} is polled ${(Date.now() - run.at) / minute} minutes after its end`);
  }

  /** No run is told of a reading that it shows. */
  private checkNews(orderId: string): void {
    const run = this.stage.runs.get(orderId);
    const reading = this.stage.polled.get(orderId);
    if (!run || !reading) return;
    // If deliveries led the run to another status and back, the watch may think that the order stands still.
    if (this.announced.has(orderId) && isSameStatus(run.status, reading.rawStatus)) return;
    if (!isNews(reading, Date.now(), inputOf(orderId, run), account.watch))
      this.problems.push(`${orderId} is told for nothing: ${JSON.stringify(run)}`);
  }

  private close(orderId: string): void {
    const isYoung = Date.now() - (this.addedAt.get(orderId) ?? 0) < settleMs; // one list does not drop it
    const latest = Date.now() + 10 * minute + (isYoung ? settleMs : 0);
    if (!this.closed.has(orderId)) this.closed.set(orderId, { at: Date.now(), latest });
  }

  private noteEnds(): void {
    for (const [orderId, { isOpen }] of this.stage.runs) if (!isOpen) this.close(orderId);
  }

  async take(step: Step): Promise<void> {
    await (this.acts[step.do] as (step: Step) => unknown)(step);
    this.noteEnds();
  }

  private readonly acts: Acts = {
    change: ({ order, word }) => {
      if (!isTerminal(this.stage, order)) this.stage.service.set(order, readingOf(word));
    },
    detour: (step) => this.detour(step),
    end: ({ order }) => this.stage.service.set(order, ended()),
    delivery: ({ order }) => this.deliver(order),
    stop: ({ order }) => this.stage.change(order),
    follow: ({ order, isPending }) => this.follow(order, isPending),
    trouble: (step) => this.trouble(step),
    takeOver: () => this.takeOver(),
    slowRuns: ({ is }) => Object.assign(this.stage, { readAfterMs: is ? undefined : second }),
    busyRuns: ({ is }) => Object.assign(this.stage, { mayAsk: !is }),
    noTemporal: ({ is }) => this.setTemporal(!is),
    noService: ({ is }) => Object.assign(this, { isServiceDown: is }),
    wait: ({ ms }) => pass(ms),
  };

  /** The order changes, and is soon back at its status. */
  private async detour(step: Extract<Step, { do: 'detour' }>): Promise<void> {
    const { stage } = this;
    const before = stage.answerOf(step.order);
    if (before instanceof Error || before.terminal) return;
    stage.service.set(step.order, readingOf(step.word));
    if (step.isAnnounced) this.deliver(step.order);
    await pass(step.ms);
    stage.service.set(step.order, before);
  }

  /** The service does not know the order for so long that its run is told, or for longer. */
  private async trouble({ order, is }: Extract<Step, { do: 'trouble' }>): Promise<void> {
    this.unreadable.add(order);
    await pass(3 * minute);
    if (is) this.unreadable.delete(order);
  }

  private deliver(orderId: string): void {
    this.announced.add(orderId);
    if (!this.isServiceDown && !this.unreadable.has(orderId)) this.stage.readByRun(orderId, true);
  }

  /** Not pending: its run is of release 0.2.0. */
  private follow(orderId: string, isPending: boolean): void {
    const { stage } = this;
    const reading = stage.answerOf(orderId);
    if (stage.runs.get(orderId)?.isOpen || reading instanceof Error || reading.terminal) return;
    stage.handOver(orderId, { status: reading.rawStatus, isPending });
    this.addedAt.set(orderId, Date.now());
    this.closed.delete(orderId);
  }

  /** Another process takes the watch, when it can list the orders. */
  private async takeOver(): Promise<void> {
    if (this.stage.isTemporalDown) return;
    this.stage.polls.stop();
    this.stage = this.newStage(this.stage);
    for (const orderId of this.stage.open()) this.addedAt.set(orderId, Date.now());
    await this.stage.adopt();
  }

  private setTemporal(isUp: boolean): void {
    this.stage.isTemporalDown = !isUp;
    if (!isUp) this.downAt ??= Date.now();
    else if (this.downAt !== undefined) {
      this.downMs += Date.now() - this.downAt;
      this.downAt = undefined;
    }
  }

  /** Everything works again: each run shows what the service says after one more list, and a poll by the slowest pace. */
  async calm(): Promise<string[]> {
    this.setTemporal(true);
    this.isServiceDown = false;
    this.unreadable.clear();
    this.stage.readAfterMs = second;
    await pass(16 * minute);
    for (const [orderId, run] of this.stage.runs) {
      const reading = this.stage.answerOf(orderId);
      if (!run.isOpen || reading instanceof Error) continue;
      if (reading.terminal || !isSameStatus(reading.rawStatus, run.status))
        this.problems.push(`${orderId} is ${reading.rawStatus}, and its run shows ${run.status} at ${iso(Date.now())}`);
      if (run.attention !== null && !isConcernCode(run.attention))
        this.problems.push(`${orderId} can be read, and its run still shows ${run.attention}`);
    }
    this.noteEnds();
    await pass(13 * minute);
    clearTimeout(this.lists);
    this.stage.polls.stop();
    return this.problems;
  }
}

function isTerminal(stage: WatchStage, orderId: string): boolean {
  const answer = stage.answerOf(orderId);
  return !(answer instanceof Error) && answer.terminal;
}

it('whatever happens, each change of an open order reaches its run, no run is told for nothing, and ended orders are left alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const world = new World();
      for (const order of orderIds) await world.take({ do: 'follow', order, isPending: order !== '4' });
      for (const one of steps) await world.take(one);
      expect(await world.calm()).toEqual([]);
    }),
    { numRuns: isLong ? 500 : 25 },
  );
}, 600_000);
