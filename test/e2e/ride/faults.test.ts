import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { FaultInput } from '../../../sandbox/faults.js';
import { isLong } from '../../support/long.js';
import { useWaysIn } from '../../support/order/ways-in.js';
import { alongLanes, useRideLanes } from '../../support/ride/lanes.js';
import { faultForms, hits, type RideOperation, rideOperations, rideWithFault } from '../../support/ride/with-fault.js';

/** In the long run each token ends before the next ride, so that its request can be hit again. */
const tokenLifetimeSeconds = isLong ? 5 : 899;
const rides = useRideLanes(isLong ? 12 : 8, { sandbox: { business: { tokenLifetimeSeconds } } });
const ways = useWaysIn(rides.stack);

interface Task {
  name: string;
  operation: RideOperation;
  fault: FaultInput;
  way: (typeof wayNames)[number];
  isCancelled: boolean;
}

const wayNames = ['cli', 'client', 'nexus'] as const;
const forms = Object.values(faultForms).flat();

const task = (fault: FaultInput, operation: RideOperation, way: Task['way'], turn: number): Task => ({
  name: `${JSON.stringify(fault)} at ${operation}, through ${way}`,
  operation,
  fault: { ...fault, operation },
  way,
  isCancelled: operation === 'cancelOrder' || turn % 2 === 0,
});

const carryOut = (tasks: readonly Task[]): Promise<string[]> =>
  alongLanes(rides.lanes, tasks, async (lane, { operation, fault, way, isCancelled }) => {
    if (isLong && operation === 'businessToken') await sleep(tokenLifetimeSeconds * 1_000);
    await rideWithFault(lane, ways[way], fault, isCancelled);
  });

/** Each kind of fault once, calls and ways in by turn. Those that make an account wait for a minute are left to the long run. */
function shortTasks(): Task[] {
  const restsForAMinute = ['invalidClient', 'invalidScope', 'invalidGrant'];
  const chosen = forms.filter((form, i) => i === forms.findIndex(({ kind }) => kind === form.kind));
  const kinds = chosen.filter(({ kind }) => !restsForAMinute.includes(kind));
  const tasks = kinds.map((fault, turn) => {
    // Shown at once and looked at again after a minute: what is forbidden while an order is followed.
    const of = rideOperations.filter((operation) => operation !== 'businessToken' || fault.kind === 'tokenAnswer');
    const operation =
      fault.kind === 'forbidden' ? 'updateOrder' : hits(fault.kind, 'createOrder') ? of[turn % of.length] : of[0];
    return task(fault, operation ?? 'createOrder', wayNames[turn % wayNames.length] ?? 'cli', turn);
  });
  // A token request comes only to an account that has no token yet.
  return tasks.sort((a, b) => Number(b.operation === 'businessToken') - Number(a.operation === 'businessToken'));
}

describe('a ride is ordered, changed, followed and ended, its receipt read, and one order made', () => {
  it.skipIf(isLong)('whichever fault hits one of its calls', { timeout: 120_000 }, async () => {
    expect(await carryOut(shortTasks())).toEqual([]);
  });

  const groups = rideOperations.flatMap((operation) => wayNames.map((way) => [operation, way] as const));
  it.runIf(isLong).each(groups)('with each fault at %s, through %s', { timeout: 600_000 }, async (operation, way) => {
    const fitting = forms.filter(({ kind }) => hits(kind, operation));
    expect(await carryOut(fitting.map((fault, turn) => task(fault, operation, way, turn)))).toEqual([]);
  });
});
