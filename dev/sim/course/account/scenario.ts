import type { Scenario } from '../scenario.js';
import { type AccountCourse, runAccountCourse } from './course.js';
import { judge } from './judge.js';
import { type AccountPlan, accountPlanText, anyAccountPlan, anyOrderPlan, simplerAccountPlans } from './plan.js';

/** Up to 50 orders of one account, with the real watch. */
export const accountScenario: Scenario<AccountPlan, AccountCourse> = {
  anyPlan: anyAccountPlan,
  play: runAccountCourse,
  judge,
  simpler: simplerAccountPlans,
  inWords: accountPlanText,
};

/** A few orders that last for hours, with a model of the watch. */
export const orderScenario: Scenario<AccountPlan, AccountCourse> = { ...accountScenario, anyPlan: anyOrderPlan };
