// Plays the course of a seed. If it breaks a promise, looks for the simplest plan that does.
import fc from 'fast-check';
import type { Course, CourseParts, Plan, Scenario } from './scenario.js';

export interface Result {
  seed: number;
  met: ReadonlySet<string>;
  /** The same for the same seed. */
  hash: number;
  violations: string[];
}

/** The simplest plan that was found to break a promise, in words. */
export interface Finding {
  violations: string[];
  text: string;
}

/** A scenario whose kind of plan does not matter. */
export interface Searchable {
  play: (seed: number, parts: CourseParts) => Promise<Result>;
  /** Simplifies the plan of a seed that breaks a promise, for at most `withinMs`. */
  simplify: (seed: number, parts: CourseParts, withinMs: number) => Promise<Finding>;
}

/** A simpler plan changes all random numbers, so it is tried with several seeds. */
const triesPerPlan = 3;

export function searchable<P extends Plan, C extends Course>(scenario: Scenario<P, C>): Searchable {
  const { anyPlan, simpler, inWords } = scenario;
  const planOf = (seed: number): P => fc.sample(anyPlan, { seed, numRuns: 1 })[0] as P;
  const judged = async (plan: P, parts: CourseParts) => {
    const course = await scenario.play(plan, parts);
    return { course, violations: scenario.judge(course) };
  };

  async function failingOf(plan: P, parts: CourseParts) {
    for (let tries = 0; tries < triesPerPlan; tries += 1) {
      const tried = { ...plan, seed: plan.seed + tries };
      const { violations } = await judged(tried, parts);
      if (violations.length > 0) return { plan: tried, violations };
    }
    return undefined;
  }

  return {
    async play(seed, parts) {
      const { course, violations } = await judged(planOf(seed), parts);
      return { seed, met: course.met, hash: course.world.scheduler.hash, violations };
    },

    async simplify(seed, parts, withinMs) {
      const until = performance.now() + withinMs;
      const plan = planOf(seed);
      let { violations } = await judged(plan, parts);
      let simplest = plan;
      for (let isSimplified = true; isSimplified; ) {
        isSimplified = false;
        for (const candidate of simpler(simplest)) {
          if (performance.now() > until) break;
          const failing = await failingOf(candidate, parts);
          if (!failing) continue;
          simplest = failing.plan;
          violations = failing.violations;
          isSimplified = true;
          break;
        }
      }
      return { violations, text: inWords(simplest) };
    },
  };
}

/** The list without one of its halves, quarters, and so on down to single entries. */
export function* shorter<T>(list: readonly T[]): Iterable<T[]> {
  for (let size = list.length; size >= 1; size = Math.floor(size / 2))
    for (let at = 0; at < list.length; at += size) yield [...list.slice(0, at), ...list.slice(at + size)];
}
