import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isNews } from '../../../src/domain/order/concern.js';
import { isSameStatus } from '../../../src/domain/order/status.js';
import { RideApiUnreachable } from '../../../src/ride-api/errors.js';
import { isLong } from '../../support/long.js';
import { readingOf } from '../attempts.js';
import { iso, minute, second } from '../temporal.js';
import { account, ended, inputOf, WatchStage } from './stage.js';
import { pass, useOwnTime } from './time.js';

useOwnTime();

const down = new RideApiUnreachable('NO_CONNECTION', 'https://partner.example');
const orderIds = ['1', '2', '3', '4'];
const words = ['Routing', 'Confirmed', 'Waiting', 'Driving', 'CareReq', 'On hold'];

const order = fc.constantFrom(...orderIds);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('change' as const), order, word: fc.constantFrom(...words) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ do: fc.constant('detour' as const), order, word: fc.constantFrom(...words) },
      ...{ isAnnounced: fc.boolean(), ms: fc.integer({ min: 1, max: 15_000 }) },
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), order }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('delivery' as const), order }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stop' as const), order }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('follow' as const), order }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('takeOver' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('slowRuns' as const), is: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('busyRuns' as const), is: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('noTemporal' as const), is: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('noService' as const), is: fc.boolean() }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 120_000 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(20 * minute, 40 * minute) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const listEveryMs = 9 * minute;
const settleMs = 2 * minute;

/** Orders, their runs and the watch, with what must always be true of them. */
class World {
  stage = this.newStage();
  problems: string[] = [];
  private isServiceDown = false;
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
    const stage = new WatchStage({ random: Math.random });
    if (before) {
      for (const [orderId, run] of before.runs) stage.runs.set(orderId, run);
      for (const [orderId, answer] of before.service) stage.service.set(orderId, answer);
      const { isTemporalDown, readAfterMs, mayAsk } = before;
      Object.assign(stage, { isTemporalDown, readAfterMs, mayAsk });
    }
    stage.readAfterMs ??= before ? undefined : second;
    stage.refuse = () => {
      if (this.isServiceDown) throw down;
    };
    stage.onPoll = (orderId) => this.checkPoll(orderId);
    stage.onHint = (orderId) => this.checkHint(orderId);
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

  /** No hint is sent without a difference. */
  private checkHint(orderId: string): void {
    const run = this.stage.runs.get(orderId);
    const reading = this.stage.polled.get(orderId);
    if (!run || !reading) return;
    // If deliveries led the run to another status and back, the watch may think that the order stands still.
    if (this.announced.has(orderId) && isSameStatus(run.status, reading.rawStatus)) return;
    if (!isNews(reading, Date.now(), inputOf(orderId, run), account.watch))
      this.problems.push(`${orderId} gets a hint for nothing: ${JSON.stringify(run)}`);
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
    const { stage } = this;
    switch (step.do) {
      case 'change':
        if (!isTerminal(stage, step.order)) stage.service.set(step.order, readingOf(step.word));
        break;
      case 'detour':
        await this.detour(step);
        break;
      case 'end':
        stage.service.set(step.order, ended());
        break;
      case 'delivery':
        this.deliver(step.order);
        break;
      case 'stop':
        stage.change(step.order);
        break;
      case 'follow':
        this.follow(step.order);
        break;
      case 'takeOver':
        await this.takeOver();
        break;
      case 'slowRuns':
        stage.readAfterMs = step.is ? undefined : second;
        break;
      case 'busyRuns':
        stage.mayAsk = !step.is;
        break;
      case 'noTemporal':
        this.setTemporal(!step.is);
        break;
      case 'noService':
        this.isServiceDown = step.is;
        break;
      case 'wait':
        await pass(step.ms);
        break;
      default:
        step satisfies never;
    }
    this.noteEnds();
  }

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

  private deliver(orderId: string): void {
    this.announced.add(orderId);
    if (!this.isServiceDown) this.stage.readByRun(orderId, true);
  }

  private follow(orderId: string): void {
    const { stage } = this;
    const reading = stage.answerOf(orderId);
    if (stage.runs.get(orderId)?.isOpen || reading instanceof Error || reading.terminal) return;
    stage.handOver(orderId, { status: reading.rawStatus });
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
    this.stage.readAfterMs = second;
    await pass(16 * minute);
    for (const [orderId, run] of this.stage.runs) {
      const reading = this.stage.answerOf(orderId);
      if (!run.isOpen || reading instanceof Error) continue;
      if (reading.terminal || !isSameStatus(reading.rawStatus, run.status))
        this.problems.push(`${orderId} is ${reading.rawStatus}, and its run shows ${run.status} at ${iso(Date.now())}`);
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

it('whatever happens, each change of an open order reaches its run, no hint is for nothing, and ended orders are left alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const world = new World();
      for (const orderId of orderIds) await world.take({ do: 'follow', order: orderId });
      for (const one of steps) await world.take(one);
      expect(await world.calm()).toEqual([]);
    }),
    { numRuns: isLong ? 500 : 25 },
  );
}, 600_000);
