import { expect, it } from 'vitest';
import { installTimers } from '../../dev/sim/clock/timers.js';
import { workerConfig } from '../../dev/sim/world/settings.js';
import { createWorld } from '../../dev/sim/world/world.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import * as workflows from '../../src/workflows/index.js';
import { interceptors } from '../../src/workflows/interceptors.js';

installTimers();

const minute = 60_000;
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

it('the real watch finds each change of an order within 25 seconds, when nothing disturbs it', async () => {
  const world = createWorld(1, { config: workerConfig(), code: { workflows, interceptors } });
  const { scheduler, service } = world;
  const script = course.map(([status, at]) => ({ status, afterMs: at * minute }));
  const about = { interface: 'business', orderId: 'o1', script } as const;
  world.asService(() => service.state.orders.add(about, { isCreated: false }));
  const startedAt = scheduler.now;
  const started = {
    workflowId: 'order/business/o1',
    taskQueue: 'rides',
    args: [{ account: 'business', orderId: 'o1' }],
  };
  let trail: OrderTrail | undefined;
  const following = world.asCaller((client) => client.workflow.execute('followOrder', started));
  void following.then((result: OrderTrail) => {
    trail = result;
  });
  await scheduler.run(200 * minute, () => trail !== undefined);
  expect(world.problems).toEqual([]);
  expect(trail).toMatchObject({ outcome: 'completed', attention: null });
  const timeline = trail?.timeline ?? [];
  expect(timeline.map(({ status }) => status)).toEqual(course.map(([status]) => status));
  const delaysMs = timeline.map(({ at }, index) => Date.parse(at) - startedAt - (course[index]?.[1] ?? 0) * minute);
  expect(Math.max(...delaysMs)).toBeLessThan(25_000);
});
