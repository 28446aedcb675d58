// Plays the course of a seed. If it breaks a promise, looks for the simplest plan that does.
import fc from 'fast-check';
import type { Course, CourseParts, Plan, Scenario, Violation } from './scenario.js';

export interface Result {
  seed: number;
  met: ReadonlySet<string>;
  /** The same for the same seed. */
  hash: number;
  violations: Violation[];
}

/** The simplest plan that was found to break the same promise. */
export interface Finding {
  violation: Violation;
  /** The plan in words. */
  text: string;
}

/** A scenario whose kind of plan does not matter. */
export interface Searchable {
  play: (seed: number, parts: CourseParts) => Promise<Result>;
  /** Simplifies the plan of a seed that breaks a promise, for at most `withinMs`. */
  simplify: (
    broken: Result & { violations: [Violation, ...Violation[]] },
    parts: CourseParts,
    withinMs: number,
  ) => Promise<Finding>;
}

/** A simpler plan changes all random numbers, so it is tried with several seeds. */
const triesPerPlan = 10;

export function searchable<P extends Plan, C extends Course>(scenario: Scenario<P, C>): Searchable {
  const { anyPlan, simpler, inWords } = scenario;
  const planOf = (seed: number): P => fc.sample(anyPlan, { seed, numRuns: 1 })[0] as P;
  const judged = async (plan: P, parts: CourseParts) => {
    const course = await scenario.play(plan, parts);
    return { course, violations: scenario.judge(course) };
  };

  async function failingOf(plan: P, promise: string, parts: CourseParts) {
    for (let tries = 0; tries < triesPerPlan; tries += 1) {
      const tried = { ...plan, seed: plan.seed + tries };
      const { violations } = await judged(tried, parts);
      const violation = violations.find((one) => one.promise === promise);
      if (violation) return { plan: tried, violation };
    }
    return undefined;
  }

  return {
    async play(seed, parts) {
      const { course, violations } = await judged(planOf(seed), parts);
      return { seed, met: course.met, hash: course.world.scheduler.hash, violations };
    },

    async simplify({ seed, violations: [first] }, parts, withinMs) {
      const until = performance.now() + withinMs;
      let simplest = { plan: planOf(seed), violation: first };
      for (let isSimplified = true; isSimplified; ) {
        isSimplified = false;
        for (const candidate of simpler(simplest.plan)) {
          if (performance.now() > until) break;
          const failing = await failingOf(candidate, first.promise, parts);
          if (!failing) continue;
          simplest = failing;
          isSimplified = true;
          break;
        }
      }
      return { violation: simplest.violation, text: inWords(simplest.plan) };
    },
  };
}

/** The list without one of its halves, quarters, and so on down to single entries. */
export function* shorter<T>(list: readonly T[]): Iterable<T[]> {
  for (let size = list.length; size >= 1; size = Math.floor(size / 2))
    for (let at = 0; at < list.length; at += size) yield [...list.slice(0, at), ...list.slice(at + size)];
}
