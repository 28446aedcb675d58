// Plays a plan for the orders of one account, and collects what the judge needs to know.
import { withBudget } from '../../world/settings.js';
import { createWorld } from '../../world/world.js';
import { beginOrders, type OrderCourse } from '../order/course.js';
import { playOut } from '../play.js';
import type { Course, CourseParts } from '../scenario.js';
import type { AccountPlan } from './plan.js';

export interface AccountCourse extends Course {
  plan: AccountPlan;
  orders: readonly OrderCourse[];
}

const hour = 3_600_000;
/** Orders with the real watch end within two hours, the others within seven. A calm system finds their ends soon. */
const longestMs = { real: 6 * hour, model: 40 * hour };

export async function runAccountCourse(plan: AccountPlan, parts: CourseParts): Promise<AccountCourse> {
  const { seed, watch, requestsPerSecond, workers, disturbances } = plan;
  const config = withBudget(parts.config, requestsPerSecond);
  const world = createWorld(seed, { ...parts, config, workers, watch });
  const startedAt = world.scheduler.now;
  const begun = beginOrders(world, plan, { taskQueue: config.taskQueue });
  const isOver = (): boolean => begun.length === plan.orders.length && begun.every((order) => order.isOver());
  const played = await playOut(world, disturbances, isOver, longestMs[watch]);
  const orders = begun.map((order) => order.end(played));
  const met = new Set(orders.flatMap((order) => [...order.met]));
  return { plan, world, startedAt, endedAt: played.endedAt, orders, met };
}
