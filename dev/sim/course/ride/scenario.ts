import type { Scenario } from '../scenario.js';
import { type RideCourse, runRideCourse } from './course.js';
import { judge } from './judge.js';
import { anyRidePlan, type RidePlan, ridePlanText, simplerRidePlans } from './plan.js';

/** One ride: requested, followed, changed and decided by people. */
export const rideScenario: Scenario<RidePlan, RideCourse> = {
  anyPlan: anyRidePlan,
  play: runRideCourse,
  judge,
  simpler: simplerRidePlans,
  inWords: ridePlanText,
};
