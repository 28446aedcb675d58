// Parts that the courses of all scenarios share.
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Execution } from '../server/execution.js';
import type { World } from '../world/world.js';
import { type Disturbance, disturb, kindOf } from './disturbances.js';

/** Something that a caller, a person, an operator or a stranger does. */
interface Deed {
  atMs: number;
  kind: string;
}

/** Schedules deeds. `act` returns false if there is nothing to act on. Adds the kinds that happen to `met`. */
export function scheduleDeeds<D extends Deed>(
  { scheduler }: World,
  deeds: readonly D[],
  met: Set<string>,
  act: (deed: D) => boolean,
): void {
  for (const deed of deeds)
    scheduler.after(deed.atMs, () => {
      if (act(deed)) met.add(deed.kind);
    });
}

/** The outcome of `playOut`. */
export interface PlayedOut {
  /** When all was over, in milliseconds since the epoch. */
  endedAt: number;
  /** The kinds of disturbances that happened, and the server's rules that were met. */
  met: ReadonlySet<string>;
}

const hour = 3_600_000;
/** Late deliveries and repeated requests still come after the end. */
const aftermathMs = hour;

/** Plays the course with its disturbances until it is over, for at most `longestMs`. */
export async function playOut(
  world: World,
  disturbances: readonly Disturbance[],
  isOver: () => boolean,
  longestMs = 40 * hour,
): Promise<PlayedOut> {
  const { scheduler, namespace } = world;
  const met = new Set<string>();
  for (const one of disturbances)
    scheduler.after(one.atMs, () => {
      if (disturb(world, one)) met.add(kindOf(one));
    });
  const lastAt = scheduler.now + Math.max(0, ...disturbances.map(({ atMs }) => atMs));
  await scheduler.run(longestMs, () => scheduler.now > lastAt && isOver());
  const endedAt = scheduler.now;
  await scheduler.run(aftermathMs);
  for (const rule of namespace.counts.keys()) met.add(rule);
  return { endedAt, met };
}

/** The server's rules that only the runs show. */
export const rulesMetBy = (runs: readonly Execution[]): string[] =>
  runs.some(({ status }) => status === 'CONTINUED_AS_NEW') ? ['continuedAsNew'] : [];

/** Repeats a request until it succeeds, or turns out to have nothing left to do. */
export async function persistently({ scheduler }: World, send: () => Promise<unknown>): Promise<void> {
  for (;;) {
    const isDone = await send().then(() => true, isSettled);
    if (isDone) return;
    await scheduler.pause(5_000);
  }
}

/** The run exists already, or no longer. An earlier try may have arrived without an answer. */
const isSettled = (error: unknown): boolean =>
  error instanceof WorkflowExecutionAlreadyStartedError || error instanceof WorkflowNotFoundError;

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
