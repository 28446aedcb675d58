import type { Scenario } from '../scenario.js';
import { type OrderCourse, runOrderCourse } from './course.js';
import { judge } from './judge.js';
import { anyOrderPlan, type OrderPlan, orderPlanText, simplerPlans } from './plan.js';

/** One order, followed to its end. */
export const orderScenario: Scenario<OrderPlan, OrderCourse> = {
  anyPlan: anyOrderPlan,
  play: runOrderCourse,
  judge,
  simpler: simplerPlans,
  inWords: orderPlanText,
};
