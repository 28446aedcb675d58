import type fc from 'fast-check';
import type { WorkerConfig } from '../../../src/config.js';
import type { Code } from '../sdk/run.js';
import type { World } from '../world/world.js';
import type { Disturbance } from './disturbances.js';

/** What each course runs on. */
export interface CourseParts {
  config: WorkerConfig;
  code: Code;
  keepsTrace?: boolean;
}

/** A course that has ended. Instants are milliseconds since the epoch. */
export interface Course {
  plan: Plan;
  world: World;
  startedAt: number;
  /** When all was over. */
  endedAt: number;
  /** Kinds of disturbances, of deeds and of the server's rules that the course has met. */
  met: ReadonlySet<string>;
}

/** What a seed decides, as plain data. */
export interface Plan {
  /** Decides everything that the plan leaves open, such as latencies. */
  seed: number;
  disturbances: Disturbance[];
}

/** A promise that a course breaks, as a sentence, and what happened. */
export interface Violation {
  promise: string;
  what: string;
}

/** A promise, with a function that finds what breaks it in a course. */
export type Promised<C extends Course> = readonly [promise: string, findBreaches: (course: C) => string[]];

export const judgeBy =
  <C extends Course>(promises: readonly Promised<C>[]) =>
  (course: C): Violation[] =>
    promises.flatMap(([promise, findBreaches]) => findBreaches(course).map((what) => ({ promise, what })));

/** A kind of course: plans, how they are played, and the promises that must hold. */
export interface Scenario<P extends Plan, C extends Course> {
  anyPlan: fc.Arbitrary<P>;
  play: (plan: P, parts: CourseParts) => Promise<C>;
  judge: (course: C) => Violation[];
  /** Plans that are a little simpler, the greatest steps first. */
  simpler: (plan: P) => Iterable<P>;
  /** The plan in words. */
  inWords: (plan: P) => string;
}
