import type { Scenario } from '../scenario.js';
import { runSubscriptionCourse, type SubscriptionCourse } from './course.js';
import { judge } from './judge.js';
import { anySubscriptionPlan, type SubscriptionPlan, simplerSubscriptionPlans, subscriptionPlanText } from './plan.js';

/** The subscriptions of an account, with what comes to their addresses. */
export const subscriptionScenario: Scenario<SubscriptionPlan, SubscriptionCourse> = {
  anyPlan: anySubscriptionPlan,
  play: runSubscriptionCourse,
  judge,
  simpler: simplerSubscriptionPlans,
  inWords: subscriptionPlanText,
};
