import { ActivityCancellationDetails } from '@temporalio/common';

import { MockActivityEnvironment } from '@temporalio/testing';
import { Watching, type WatchingPorts } from '../../../src/activities/watch/watching.js';
import { toOrderId } from '../../../src/domain/keys.js';
import type { OrderReading } from '../../../src/domain/order/trail.js';
import type { ChangeCounts } from '../../../src/domain/subscription/state.js';
import type { WatchEnd, WatchOrderInput, WatchPulse, WatchTold } from '../../../src/domain/watch.js';
import { readingOf } from '../attempts.js';
import { iso, logger } from '../temporal.js';
import { account } from './stage.js';
import { pass } from './time.js';

/** An order as its run hands it over. */
export const orderOf = (orderId: string, more: Partial<WatchOrderInput> = {}): WatchOrderInput => ({
  ...{ account: account.name, orderId: toOrderId(orderId), rawStatus: 'Routing', attention: null },
  ...{ since: iso(Date.now()), followedSince: iso(Date.now()), scheduledAt: null, pushed: false },
  ...more,
});

/** One attempt of the activity. */
export interface Running {
  end: WatchEnd | undefined;
  error: unknown;
  isOver: boolean;
  pulses: WatchPulse[];
  cancel(details?: Partial<ActivityCancellationDetails>): void;
}

/** A worker process that may hold watches, and Temporal as it sees it. */
export class HostStage {
  asked: number[] = [];
  answer: OrderReading | Error = readingOf('Routing');
  listed: WatchOrderInput[] | Error = [];
  lists: number[] = [];
  started: number[] = [];
  told: WatchTold[] = [];
  toldCounts: ChangeCounts[] = [];
  served: ('serving' | 'stopped')[] = [];
  warnings: string[] = [];
  isTemporalDown = false;
  isElsewhere = false;
  isLeaving = false;
  listMs = 0;
  used = 0;
  run = { isOpen: true, runId: 'r', status: 'Routing' as string | null, attention: null, isAnnounced: false };
  readonly watching: Watching;

  constructor(pace: WatchingPorts['pace'] = {}) {
    this.watching = new Watching({ ...this.ports(), pace });
  }

  private ports(): WatchingPorts {
    const up = <T>(value: T): Promise<T> =>
      this.isTemporalDown ? Promise.reject(new Error('unavailable')) : Promise.resolve(value);
    return {
      account: () => account,
      readOrder: async () => {
        this.asked.push(Date.now());
        if (this.answer instanceof Error) throw this.answer;
        return this.answer;
      },
      runs: {
        readShown: () => up(this.run),
        readOrder: () => up(null),
        changeSeen: () => up(this.run.isOpen),
        list: () => this.list(),
        start: async () => {
          await up(undefined);
          this.started.push(Date.now());
        },
        tell: async (_name, told) => void this.told.push(await up(told)),
        tellCounts: async (_name, counts) => void this.toldCounts.push(await up(counts)),
        isElsewhere: () => up(this.isElsewhere),
        processes: () => up(1),
        ping: () => up(undefined),
      },
      usage: { perSecond: () => this.used },
      serve: async () => {
        const index = this.served.push('serving') - 1;
        return {
          stop: async () => {
            this.served[index] = 'stopped';
          },
        };
      },
      worker: '7@host',
      isLeaving: () => this.isLeaving,
      events: {},
      warn: (message) => void this.warnings.push(message),
      now: Date.now,
      random: () => 0,
    };
  }

  private async list(): Promise<WatchOrderInput[]> {
    this.lists.push(Date.now());
    if (this.listMs > 0) await new Promise((resolve) => setTimeout(resolve, this.listMs));
    if (this.isTemporalDown) throw new Error('unavailable');
    if (this.listed instanceof Error) throw this.listed;
    return this.listed;
  }

  /** Temporal hands one attempt of the activity to this process. `before`: the last heartbeat of the attempt before. */
  attempt(before?: WatchPulse): Running {
    const info = before === undefined ? {} : { attempt: 2, heartbeatDetails: before };
    const environment = new MockActivityEnvironment(info, { logger });
    const running: Running = {
      ...{ end: undefined, error: undefined, isOver: false, pulses: [] },
      cancel: (details = { timedOut: true }) =>
        environment.cancel('CANCELLED', new ActivityCancellationDetails(details)),
    };
    environment.on('heartbeat', (pulse: WatchPulse) => running.pulses.push(pulse));
    void environment
      .run(() => this.watching.activities.watchOrders({ account: account.name }))
      .then(
        (end) => Object.assign(running, { end }),
        (error: unknown) => Object.assign(running, { error }),
      )
      .finally(() => {
        running.isOver = true;
      });
    return running;
  }

  /** A run hands its order over. */
  add = (orderId: string, more?: Partial<WatchOrderInput>): Promise<void> =>
    this.watching.activities.watchOrder(orderOf(orderId, more));

  /** An attempt with one order, after a minute. */
  async watching1(): Promise<Running> {
    const running = this.attempt();
    await pass(1_000);
    await this.add('1');
    this.listed = [orderOf('1')];
    await pass(59_000);
    return running;
  }

  async polledWithin(ms: number): Promise<number> {
    const { length } = this.asked;
    await pass(ms);
    return this.asked.length - length;
  }
}
