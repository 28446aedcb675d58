import { expect, it } from 'vitest';
import { installTimers } from '../../dev/sim/clock/timers.js';
import type { AccountPlan } from '../../dev/sim/course/account/plan.js';
import { orderScenario } from '../../dev/sim/course/account/scenario.js';
import type { CallPlan } from '../../dev/sim/course/call/plan.js';
import { callScenario } from '../../dev/sim/course/call/scenario.js';
import type { OrderStory } from '../../dev/sim/course/order/plan.js';
import type { RidePlan } from '../../dev/sim/course/ride/plan.js';
import { rideScenario } from '../../dev/sim/course/ride/scenario.js';
import type { Course, Plan, Scenario } from '../../dev/sim/course/scenario.js';
import type { SubscriptionPlan } from '../../dev/sim/course/subscription/plan.js';
import { subscriptionScenario } from '../../dev/sim/course/subscription/scenario.js';
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
      { kind: 'reset', atMs: 8 * second, which: 0, leavesOut: false },
      { kind: 'cancelRide', atMs: 14 * second },
      { kind: 'cancelRide', atMs: 9 * minute },
    ],
    disturbances: [{ kind: 'workerKilled', atMs: 4 * second, restMs: 15 * second }],
  },
};

const order: OrderStory & { startsMs: number } = {
  startsMs: 0,
  changes: [],
  end: { afterMs: 2 * minute, status: 'Completed', sending: { times: 1, lateMs: 0 } },
  isRequested: true,
  limits: null,
  receiver: null,
  deeds: [],
};
const account: Omit<AccountPlan, 'seed'> = {
  watch: 'model',
  requestsPerSecond: 16,
  workers: 1,
  orders: [order],
  disturbances: [],
};
const prompt = { times: 1, lateMs: 0 } as const;
const orders: Record<string, Partial<AccountPlan>> = {
  'a read asked for a token every second while token requests timed out': {
    orders: [
      {
        ...order,
        changes: [
          { afterMs: 10 * minute, status: 'Confirmed', sending: prompt },
          { afterMs: 27 * minute, status: 'Driving', sending: prompt },
        ],
        end: { afterMs: 20 * minute, status: 'Completed', sending: prompt },
      },
    ],
    disturbances: [
      { kind: 'callsFail', atMs: 36 * minute, forMs: 8 * minute, link: 'service', fails: 'answerLost', share: 1 },
    ],
  },
};

const subscription: Omit<SubscriptionPlan, 'seed'> = {
  sending: { lost: 0, duplicated: 0, delayUpToMs: 0, retries: 0 },
  hasReports: false,
  isManaged: false,
  orders: [],
  deeds: [],
  disturbances: [],
};
const subscriptions: Record<string, Partial<SubscriptionPlan>> = {
  'a subscription that was reset asked for an address again that the service had already': {
    orders: [{ ...order, isRequested: false, startsMs: 46 * minute }],
    deeds: [{ kind: 'reset', atMs: 37 * minute, which: 0.5, leavesOut: false }],
  },
  'the end of a subscription did not count unclear requests whose addresses had ended': {
    deeds: [
      { kind: 'rotate', atMs: 5 * minute, graceMs: minute },
      { kind: 'end', atMs: 29 * minute },
    ],
    disturbances: [
      { kind: 'callsFail', atMs: 5 * minute, forMs: 25 * second, link: 'service', fails: 'answerLost', share: 1 },
    ],
  },
};

const calls: Record<string, Partial<CallPlan>> = {
  'a cancel that was carried out before a reset was answered as refused': {
    calls: [
      {
        startsMs: 14 * minute + 20_408,
        operation: 'cancelOrder',
        deeds: [{ kind: 'reset', atMs: 120, which: 0, leavesOut: true }],
      },
    ],
  },
};

function keep<P extends Plan, C extends Course>(
  scenario: Scenario<P, C>,
  usual: Omit<P, 'seed'>,
  plans: Record<string, Partial<P>>,
): void {
  it.each(Object.entries(plans))('no promise is broken by the plan with which %s', async (_, plan) => {
    for (const seed of latencies) {
      const course = await scenario.play({ ...usual, ...plan, seed } as P, parts);
      expect(scenario.judge(course)).toEqual([]);
    }
  });
}

keep(rideScenario, ride, rides);
keep(orderScenario, account, orders);
keep(subscriptionScenario, subscription, subscriptions);
keep(callScenario, { calls: [], disturbances: [] }, calls);
