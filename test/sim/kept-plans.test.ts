import { expect, it } from 'vitest';
import { installTimers } from '../../dev/sim/clock/timers.js';
import type { OrderPlan } from '../../dev/sim/course/order/plan.js';
import { orderScenario } from '../../dev/sim/course/order/scenario.js';
import type { RidePlan } from '../../dev/sim/course/ride/plan.js';
import { rideScenario } from '../../dev/sim/course/ride/scenario.js';
import { workerConfig } from '../../dev/sim/world/settings.js';
import * as workflows from '../../src/workflows/index.js';
import { interceptors } from '../../src/workflows/interceptors.js';

// Plans that once broke a promise, each as simple as it could be made. They outlive their seeds, which mean another
// plan after every change of the generator.

installTimers();
const parts = { config: workerConfig(), code: { workflows, interceptors } };
const second = 1_000;
const minute = 60 * second;
const latencies = [1, 2, 3, 4, 5];

const ride: Omit<RidePlan, 'seed'> = {
  isQuoted: false,
  changes: [],
  endAfterMs: 18 * minute,
  isAnnounced: false,
  isHasty: false,
  maxEvents: null,
  wantsReceipt: false,
  receiver: null,
  deeds: [],
  disturbances: [],
};
const rides: Record<string, Partial<RidePlan>> = {
  'a second cancel withdrew a ride that was reset and in doubt': {
    deeds: [
      { kind: 'reset', atMs: 8 * second, which: 0 },
      { kind: 'cancelRide', atMs: 14 * second },
      { kind: 'cancelRide', atMs: 9 * minute },
    ],
    disturbances: [{ kind: 'workerKilled', atMs: 4 * second, restMs: 15 * second }],
  },
};

const order: Omit<OrderPlan, 'seed'> = {
  changes: [],
  end: { afterMs: 2 * minute, status: 'Completed', sending: { times: 1, lateMs: 0 } },
  isRequested: true,
  limits: null,
  receiver: null,
  deeds: [],
  disturbances: [],
};
const prompt = { times: 1, lateMs: 0 } as const;
const orders: Record<string, Partial<OrderPlan>> = {
  'a read asked for a token every second while token requests timed out': {
    changes: [
      { afterMs: 10 * minute, status: 'Confirmed', sending: prompt },
      { afterMs: 27 * minute, status: 'Driving', sending: prompt },
    ],
    end: { afterMs: 20 * minute, status: 'Completed', sending: prompt },
    disturbances: [
      { kind: 'callsFail', atMs: 36 * minute, forMs: 8 * minute, link: 'service', fails: 'answerLost', share: 1 },
    ],
  },
};

it.each(Object.entries(rides))('no promise is broken by the plan with which %s', async (_, plan) => {
  for (const seed of latencies) {
    const course = await rideScenario.play({ ...ride, ...plan, seed }, parts);
    expect(rideScenario.judge(course)).toEqual([]);
  }
});

it.each(Object.entries(orders))('no promise is broken by the plan with which %s', async (_, plan) => {
  for (const seed of latencies) {
    const course = await orderScenario.play({ ...order, ...plan, seed }, parts);
    expect(orderScenario.judge(course)).toEqual([]);
  }
});
