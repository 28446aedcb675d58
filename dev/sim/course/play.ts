// Parts that the courses of all scenarios share.
import type { Execution } from '../server/execution.js';
import type { World } from '../world/world.js';
import { type Disturbance, disturb, kindOf } from './disturbances.js';

/** Something that a caller, a person, an operator or a stranger does. */
interface Deed {
  atMs: number;
  kind: string;
}

/** Schedules what a plan contains. `act` returns false if there is nothing to act on. Returns the kinds that happen. */
export function schedulePlan<D extends Deed>(
  world: World,
  { deeds, disturbances }: { deeds: readonly D[]; disturbances: readonly Disturbance[] },
  act: (deed: D) => boolean,
): Set<string> {
  const { scheduler } = world;
  const met = new Set<string>();
  for (const deed of deeds)
    scheduler.after(deed.atMs, () => {
      if (act(deed)) met.add(deed.kind);
    });
  for (const one of disturbances)
    scheduler.after(one.atMs, () => {
      met.add(kindOf(one));
      disturb(world, one);
    });
  return met;
}

/** Adds the server's rules that a course has met. */
export function addRules(met: Set<string>, { namespace }: World, runs: readonly Execution[]): void {
  for (const rule of namespace.counts.keys()) met.add(rule);
  if (runs.some(({ status }) => status === 'CONTINUED_AS_NEW')) met.add('continuedAsNew');
}

/** A request, with its answer or error once there is one. `at` is in milliseconds since the epoch. */
export interface Asked<Kind extends string, Answer> {
  kind: Kind;
  at: number;
  answer?: Answer;
  error?: unknown;
}

/** Sends a request, and notes its answer or error. */
export function ask<Kind extends string, Answer>(
  world: World,
  asked: Asked<Kind, Answer>[],
  kind: Kind,
  send: () => Promise<Answer>,
): void {
  const one: Asked<Kind, Answer> = { kind, at: world.scheduler.now };
  asked.push(one);
  send().then(
    (answer) => {
      one.answer = answer;
    },
    (error: unknown) => {
      one.error = error;
    },
  );
}
