import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultInput } from '../../sandbox/faults.js';
import { whenUp } from './member.js';
import {
  clusterNames,
  type Place,
  type Plan,
  type PlannedFault,
  type ProcessName,
  processNames,
  type receiverFaults,
  type WorkerName,
} from './plan.js';
import type { Stage } from './stage.js';
import { strangeAnswers } from './strange-answers.js';

/** A fault as it happened; milliseconds since the epoch. */
export interface Fault extends PlannedFault {
  beganAt: number;
  endedAt: number;
}

type ReceiverFault = (typeof receiverFaults)[number];
type Say = (line: string) => void;

/** A process that has come up gets no fault for so long, so that a slow machine still does some work. */
const restMs = 2_000;
const upWithinMs = 120_000;
/** A stranger sends for so long while the disk is full. */
const burstMs = 2_000;

/**
 * Causes the faults of the plan. Each process gets one after the other, and only once it is up again. Leaves out faults that do
 * not begin in the time of the plan. Resolves after the last one.
 */
export async function runFaults(stage: Stage, { faults: planned, forMs }: Plan, say: Say): Promise<Fault[]> {
  const startedAt = Date.now();
  const targets = [...new Set(planned.map(({ target }) => target))];
  const lanes = targets.map((name) => planned.filter(({ target }) => target === name));
  const isOver = () => Date.now() > startedAt + forMs;
  const happened = await Promise.all(
    lanes.map(async (lane) => {
      const faults: Fault[] = [];
      let notBefore = startedAt;
      for (const fault of lane) {
        await sleep(Math.max(0, startedAt + fault.atMs - Date.now(), notBefore - Date.now()));
        if (isOver()) break;
        say(toLine(fault));
        const beganAt = Date.now();
        await apply(stage, fault, isOver);
        faults.push({ ...fault, beganAt, endedAt: Date.now() });
        if (isProcess(fault.target)) await whenUp(stage.members[fault.target], upWithinMs);
        notBefore = Date.now() + restMs;
      }
      return faults;
    }),
  );
  return happened.flat().sort((a, b) => a.beganAt - b.beganAt);
}

const isProcess = (place: Place): place is ProcessName =>
  [...processNames, ...clusterNames].some((name) => name === place);

const toLine = ({ target, kind, operation, answer, lastsMs }: PlannedFault): string =>
  [target, kind, operation, answer, lastsMs > 0 ? `for ${lastsMs} ms` : undefined].filter(Boolean).join(' ');

async function apply(stage: Stage, fault: PlannedFault, isOver: () => boolean): Promise<void> {
  const { target } = fault;
  if (isProcess(target)) return await applyToProcess(stage, { ...fault, target });
  const { receivers, disk, stranger, changeable, client, members, store } = stage;
  switch (target) {
    case 'receiver-1':
    case 'receiver-2':
      receivers[target].behave(fault.kind as ReceiverFault);
      await sleep(fault.lastsMs);
      return receivers[target].behave('well');
    case 'disk':
      disk.fill();
      await Promise.all([sleep(fault.lastsMs), stranger.flood(Math.min(fault.lastsMs, burstMs))]); // so that the journal grows
      return disk.empty();
    case 'address':
      return await stranger.flood(fault.lastsMs);
    case 'profile':
      changeable.mislead(fault.guess ?? null);
      await sleep(fault.lastsMs);
      return changeable.mislead(null);
    case 'keys':
      return await changeable.rotateKeys([members['worker-1'], members['worker-2'], members.ingress], isOver);
    case 'release':
      return await changeable.roll(client);
    case 'store':
      return await store?.fail(fault.kind, fault.lastsMs);
  }
}

async function applyToProcess({ members, sandbox, wires }: Stage, fault: PlannedFault & { target: ProcessName }) {
  const member = members[fault.target];
  switch (fault.kind) {
    case 'kill':
      await member.kill();
      await sleep(fault.lastsMs);
      return await member.start();
    case 'restart':
      await member.stop();
      await sleep(fault.lastsMs);
      return await member.start();
    case 'isolate':
      wires[fault.target as WorkerName]?.cut();
      await sleep(fault.lastsMs);
      return wires[fault.target as WorkerName]?.mend();
    case 'pause':
    case 'freeze':
      member.pause();
      await sleep(fault.lastsMs);
      return member.resume();
    case 'down':
      await sandbox.setDown(true);
      await sleep(fault.lastsMs);
      return await sandbox.setDown(false);
    case 'revokeTokens':
      return void (await sandbox.revokeTokens());
    case 'loseAnswers':
    case 'serverErrors':
    case 'strangeAnswers':
      await sandbox.clearFaults(); // one that found no request, or they would gather at an operation with few of them
      return void (await sandbox.setFault(toSandboxFault(fault)));
    default:
      throw new Error(`${fault.target} has no fault ${fault.kind}`);
  }
}

const toSandboxFault = ({ kind, operation, answer }: PlannedFault): FaultInput => ({
  ...(answer ? strangeAnswers[answer] : kind === 'serverErrors' ? { kind: 'serverError' } : lostAnswer),
  ...(operation && { operation }),
  times: 2,
});

const lostAnswer = { kind: 'dropConnection', when: 'answer' } as const;
