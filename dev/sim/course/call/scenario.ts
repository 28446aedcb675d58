import type { Scenario } from '../scenario.js';
import { type CallCourse, runCallCourse } from './course.js';
import { judge } from './judge.js';
import { anyCallPlan, type CallPlan, callPlanText, simplerCallPlans } from './plan.js';

/** Business calls without a ride. */
export const callScenario: Scenario<CallPlan, CallCourse> = {
  anyPlan: anyCallPlan,
  play: runCallCourse,
  judge,
  simpler: simplerCallPlans,
  inWords: callPlanText,
};
