// Disturbances of any course: processes die, pause or are replaced, clocks jump, calls fail in transit, and operators
// end the watch of the account.
import type { WorkflowHandle } from '@temporalio/client';
import fc from 'fast-check';
import { pauseActivity, resetActivity, unpauseActivity } from '../server/activity-operations.js';
import { leavesWithinMs } from '../world/fleet.js';
import type { Period } from '../world/interference.js';
import type { World } from '../world/world.js';
import { anyShare, kind, minute, second } from './draws.js';
import { durationText, type Line } from './in-words.js';
import { resetTo } from './operator.js';

export type Disturbance = { atMs: number } & (
  | { kind: 'workerKilled' | 'ingressKilled'; restMs: number }
  | { kind: 'workerPaused' | 'workerCutOff'; forMs: number }
  | { kind: 'workerReplaced'; overlapMs: number }
  | { kind: 'clockJumps'; byMs: number }
  | { kind: 'tokensRevoked' }
  /** `which`: 0 for the first of the pending activities, 1 for the last. */
  | { kind: 'activityPaused'; which: number; forMs: number }
  | { kind: 'activityReset'; which: number }
  | { kind: 'watchCancelled' | 'watchTerminated' }
  /** `which`: 0 for the first workflow task, 1 for the last. */
  | { kind: 'watchReset'; which: number }
  | ({ kind: 'callsFail' } & Period)
);

const shareOfCalls = fc.constantFrom(0.05, 0.3, 0.8, 1);
const forMs = fc.integer({ min: second, max: 10 * minute });
const restMs = fc.integer({ min: 50, max: minute });

/** Any disturbance that begins within the time. */
export const anyDisturbance = (withinMs: number): fc.Arbitrary<Disturbance> => {
  const atMs = fc.integer({ min: 0, max: withinMs });
  return fc.oneof(
    { weight: 4, arbitrary: fc.record({ atMs, kind: kind('workerKilled'), restMs }) },
    { weight: 1, arbitrary: fc.record({ atMs, kind: kind('ingressKilled'), restMs }) },
    {
      weight: 2,
      arbitrary: fc.record({ atMs, kind: kind('workerPaused'), forMs: fc.integer({ min: 50, max: minute }) }),
    },
    { weight: 1, arbitrary: fc.record({ atMs, kind: kind('workerCutOff'), forMs }) },
    {
      weight: 2,
      arbitrary: fc.record({ atMs, kind: kind('workerReplaced'), overlapMs: fc.integer({ min: 0, max: 3 * minute }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        atMs,
        kind: kind('clockJumps'),
        byMs: fc.integer({ min: -180 * minute, max: 180 * minute }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ atMs, kind: kind('tokensRevoked') }) },
    { weight: 1, arbitrary: fc.record({ atMs, kind: kind('activityPaused'), which: anyShare, forMs }) },
    { weight: 1, arbitrary: fc.record({ atMs, kind: kind('activityReset'), which: anyShare }) },
    {
      weight: 3,
      arbitrary: fc.record({
        atMs,
        kind: kind('callsFail'),
        link: fc.constantFrom('temporal', 'service'),
        fails: fc.constantFrom('requestLost', 'answerLost'),
        share: shareOfCalls,
        forMs,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        atMs,
        kind: kind('callsFail'),
        link: kind('service'),
        fails: kind('answerLate'),
        share: shareOfCalls,
        forMs,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        atMs,
        kind: kind('callsFail'),
        link: kind('service'),
        fails: fc.record({
          status: fc.constantFrom(401, 403, 404, 429, 500, 503),
          retryAfterSeconds: fc.option(fc.integer({ min: 0, max: 600 }), { freq: 2 }),
        }),
        share: shareOfCalls,
        forMs,
      }),
    },
  );
};

/** Any action of an operator on the watch of the account. */
export const anyWatchDisturbance = (withinMs: number): fc.Arbitrary<Disturbance> => {
  const atMs = fc.integer({ min: 0, max: withinMs });
  return fc.oneof(
    fc.record({ atMs, kind: fc.constantFrom('watchCancelled', 'watchTerminated') }),
    fc.record({ atMs, kind: kind('watchReset'), which: anyShare }),
  );
};

/** Each returns false if there is nothing to disturb. */
const begin: {
  [Kind in Disturbance['kind']]: (world: World, about: Extract<Disturbance, { kind: Kind }>) => boolean;
} = {
  workerKilled: ({ workers }, { restMs: rest }) => workers.kill(rest),
  ingressKilled: ({ ingress }, { restMs: rest }) => ingress.kill(rest),
  workerPaused: ({ workers }, { forMs: length }) => workers.pause(length),
  workerCutOff: ({ workers }, { forMs: length }) => workers.cutOff(length),
  workerReplaced: ({ workers }, { overlapMs }) => workers.replace(overlapMs),
  clockJumps: ({ workers }, { byMs }) => workers.moveClock(byMs),
  tokensRevoked({ service }) {
    service.state.tokens.revoke();
    return true;
  },
  activityPaused(world, { which, forMs: length }) {
    const { namespace } = world;
    const found = pendingActivity(world, which);
    if (found) pauseActivity(found.activity);
    if (found) namespace.scheduler.after(length, () => unpauseActivity(namespace, found.execution, found.activity));
    return found !== undefined;
  },
  activityReset(world, { which }) {
    const found = pendingActivity(world, which);
    if (found) resetActivity(world.namespace, found.execution, found.activity);
    return found !== undefined;
  },
  watchCancelled: (world) => ofWatch(world, (handle) => handle.cancel()),
  watchTerminated: (world) => ofWatch(world, (handle) => handle.terminate('enough')),
  watchReset(world, { which }) {
    const run = openWatch(world);
    return run !== undefined && resetTo(world, run, { which, leavesOut: false });
  },
  callsFail(world, period) {
    world.interference.begin(period);
    return true;
  },
};

/** Picks a pending activity whose cancellation nobody has requested. */
function pendingActivity({ namespace }: World, which: number) {
  const all = namespace
    .all()
    .flatMap((execution) =>
      execution.isOpen ? [...execution.activities.values()].map((activity) => ({ execution, activity })) : [],
    );
  const pending = all.filter(({ activity }) => activity.cancelRequestedId === null);
  return pending[Math.min(pending.length - 1, Math.floor(which * pending.length))];
}

const openWatch = ({ namespace }: World) =>
  namespace.all().find(({ type, isOpen }) => type === 'accountWatch' && isOpen);

function ofWatch(world: World, act: (handle: WorkflowHandle) => Promise<unknown>): boolean {
  const run = openWatch(world);
  if (run) world.asCaller((client) => void act(client.workflow.getHandle(run.workflowId)).catch(() => undefined));
  return run !== undefined;
}

/** Returns false if there is nothing to disturb. */
export const disturb = (world: World, disturbance: Disturbance): boolean =>
  (begin[disturbance.kind] as (world: World, about: Disturbance) => boolean)(world, disturbance);

/** Duration of a disturbance in milliseconds, without the recovery after it. */
export function lastsMs(disturbance: Disturbance): number {
  switch (disturbance.kind) {
    case 'workerKilled':
    case 'ingressKilled':
      return disturbance.restMs;
    case 'workerPaused':
    case 'workerCutOff':
    case 'activityPaused':
    case 'callsFail':
      return disturbance.forMs;
    case 'workerReplaced':
      return disturbance.overlapMs + leavesWithinMs;
    case 'clockJumps':
      // An instant up to which a worker has to wait is by its own clock, so the others wait longer.
      return Math.max(0, disturbance.byMs);
    case 'tokensRevoked':
    case 'activityReset':
    case 'watchCancelled':
    case 'watchTerminated':
    case 'watchReset':
      return 0;
  }
}

/** The name under which a disturbance is counted. */
export function kindOf(disturbance: Disturbance): string {
  if (disturbance.kind !== 'callsFail') return disturbance.kind;
  const { link, fails } = disturbance;
  return `${link} ${typeof fails === 'string' ? fails : fails.status}`;
}

const inWords: { [Kind in Disturbance['kind']]: (about: Extract<Disturbance, { kind: Kind }>) => string } = {
  workerKilled: ({ restMs: rest }) => `the worker is killed, and another one starts after ${durationText(rest)}`,
  ingressKilled: ({ restMs: rest }) => `the ingress is killed, and another one starts after ${durationText(rest)}`,
  workerPaused: ({ forMs: length }) => `the worker is paused for ${durationText(length)}`,
  workerCutOff: ({ forMs: length }) => `the worker does not reach Temporal for ${durationText(length)}`,
  workerReplaced: ({ overlapMs }) =>
    `another worker starts; a worker is told to leave after ${durationText(overlapMs)}`,
  activityPaused: ({ forMs: length }) => `an operator pauses an activity for ${durationText(length)}`,
  activityReset: () => 'an operator resets an activity',
  watchCancelled: () => 'an operator cancels the watch of the account',
  watchTerminated: () => 'an operator terminates the watch of the account',
  watchReset: () => 'an operator resets the watch of the account',
  clockJumps: ({ byMs }) => `the worker's clock jumps ${durationText(Math.abs(byMs))} ${byMs < 0 ? 'back' : 'ahead'}`,
  tokensRevoked: () => 'the service revokes all tokens',
  callsFail: ({ link, fails, share, forMs: length }) =>
    `for ${durationText(length)}, ${share * 100} % of the calls to ${link === 'temporal' ? 'Temporal' : 'the service'} ${failureText(fails)}`,
};

function failureText(fails: Period['fails']): string {
  if (fails === 'requestLost') return 'do not arrive';
  if (fails === 'answerLost') return 'are carried out, but their answers are lost';
  if (fails === 'answerLate') return 'are answered some seconds late';
  const { status, retryAfterSeconds } = fails;
  return `are answered with ${status}${retryAfterSeconds === null ? '' : `, Retry-After ${retryAfterSeconds}`}`;
}

/** The disturbances in words. */
export const disturbanceLines = (disturbances: readonly Disturbance[]): Line[] =>
  disturbances.map((one) => ({
    atMs: one.atMs,
    text: (inWords[one.kind] as (about: Disturbance) => string)(one),
  }));
