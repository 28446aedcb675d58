import { expect, it } from 'vitest';
import { installTimers } from '../../dev/sim/clock/timers.js';
import { serviceUrl } from '../../dev/sim/world/service.js';
import { createWorld } from '../../dev/sim/world/world.js';
import { loadWorkerConfig } from '../../src/config.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import * as workflows from '../../src/workflows/index.js';
import { interceptors } from '../../src/workflows/interceptors.js';
import { workerEnv } from '../support/accounts.js';

installTimers();

const minute = 60_000;
const settings = {
  FARETRAIL_POLL_ACTIVE_MS: '10000',
  FARETRAIL_POLL_RESERVED_MS: '300000',
  FARETRAIL_POLL_PUSHED_MS: '300000',
  FARETRAIL_TASK_QUEUE: 'rides',
  FARETRAIL_SEALING_KEYS: `k1:${Buffer.alloc(32).toString('base64url')}`,
};
const course: readonly [status: string, atMinute: number][] = [
  ['Pending', 0],
  ['Routing', 2],
  ['Confirmed', 10],
  ['Driving', 25],
  ['Waiting', 40],
  ['ActiveOrder', 45],
  ['Waiting', 75],
  ['ActiveOrder', 80],
  ['Completed', 100],
];

/** The longest delay between a status and its entry in the timeline. */
const longestDelayMs = (trail: OrderTrail | undefined, startedAt: number): number =>
  Math.max(
    ...(trail?.timeline ?? []).map(({ at }, index) => Date.parse(at) - startedAt - (course[index]?.[1] ?? 0) * minute),
  );

async function follow(seed: number, killEveryMs = 0) {
  const config = loadWorkerConfig(workerEnv(serviceUrl, settings));
  const world = createWorld(seed, { config, code: { workflows, interceptors } });
  const script = course.map(([status, at]) => ({ status, afterMs: at * minute }));
  world.asService(() =>
    world.service.state.orders.add({ interface: 'business', orderId: 'o1', script }, { isCreated: false }),
  );
  const startedAt = world.scheduler.now;
  const { scheduler } = world;
  const kill = (): void => {
    if (killEveryMs > 0)
      scheduler.after(scheduler.between(killEveryMs / 2, 2 * killEveryMs), () => {
        world.killWorker(scheduler.between(50, 20_000));
        kill();
      });
  };
  kill();
  let trail: OrderTrail | undefined;
  const started = {
    workflowId: 'order/business/o1',
    taskQueue: 'rides',
    args: [{ account: 'business', orderId: 'o1' }],
  };
  const following = world.asCaller((client) => client.workflow.execute('followOrder', started));
  following.then(
    (result) => {
      trail = result as OrderTrail;
    },
    () => undefined,
  );
  await world.scheduler.run(200 * minute, () => trail !== undefined);
  return { world, startedAt, trail };
}

it('an order is followed to its end by the real client, activities and watch on the virtual clock', async () => {
  const { world, startedAt, trail } = await follow(1);
  expect(world.problems).toEqual([]);
  expect(trail).toMatchObject({ outcome: 'completed', attention: null });
  expect(trail?.timeline.map(({ status }) => status)).toEqual(course.map(([status]) => status));
  expect(longestDelayMs(trail, startedAt)).toBeLessThan(25_000);
});

it.each([1, 2, 3])('an order is followed to its end while workers die every few minutes (seed %i)', async (seed) => {
  const { world, startedAt, trail } = await follow(seed, 3 * minute);
  expect(world.problems).toEqual([]); // includes differences between rebuilt runs and their histories
  expect(world.namespace.counts.get('rebuilt')).toBeGreaterThan(10);
  expect(trail).toMatchObject({ outcome: 'completed', attention: null });
  expect(trail?.timeline.map(({ status }) => status)).toEqual(course.map(([status]) => status));
  expect(longestDelayMs(trail, startedAt)).toBeLessThan(2 * minute);
});

it('the same seed gives the same course, and another seed a different one', async () => {
  const linesOf = async (seed: number) => {
    const { world } = await follow(seed);
    const events = world.namespace.newest('order/business/o1')?.events ?? [];
    return [world.scheduler.hash, ...events.map(({ eventTime }) => `${eventTime?.seconds} ${eventTime?.nanos}`)];
  };
  const first = await linesOf(7);
  expect(await linesOf(7)).toEqual(first);
  expect(await linesOf(8)).not.toEqual(first);
});
