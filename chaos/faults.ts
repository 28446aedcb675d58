import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultInput } from '../sandbox/faults.js';
import { type Member, whenUp } from './member.js';
import type { Plan, PlannedFault } from './plan.js';
import type { Stage } from './stage.js';
import { strangeAnswers } from './strange-answers.js';

/** A fault as it happened; milliseconds since the epoch. */
export interface Fault extends PlannedFault {
  beganAt: number;
  endedAt: number;
}

type Say = (line: string) => void;

/** A process that has come up gets no fault for so long, so that a slow machine still does some work. */
const restMs = 2_000;
const upWithinMs = 120_000;

/**
 * Causes the faults of the plan. Each process gets one after the other, and only once it is up again. Leaves out faults that do
 * not begin in the time of the plan. Resolves after the last one.
 */
export async function runFaults(stage: Stage, { faults: planned, forMs }: Plan, say: Say): Promise<Fault[]> {
  const startedAt = Date.now();
  const targets = [...new Set(planned.map(({ target }) => target))];
  const lanes = targets.map((name) => planned.filter(({ target }) => target === name));
  const happened = await Promise.all(
    lanes.map(async (lane) => {
      const faults: Fault[] = [];
      let notBefore = startedAt;
      for (const fault of lane) {
        await sleep(Math.max(0, startedAt + fault.atMs - Date.now(), notBefore - Date.now()));
        if (Date.now() > startedAt + forMs) break;
        say(toLine(fault));
        const beganAt = Date.now();
        await apply(stage, fault);
        faults.push({ ...fault, beganAt, endedAt: Date.now() });
        await whenUp(stage.members[fault.target], upWithinMs);
        notBefore = Date.now() + restMs;
      }
      return faults;
    }),
  );
  return happened.flat().sort((a, b) => a.beganAt - b.beganAt);
}

const toLine = ({ target, kind, operation, answer, lastsMs }: PlannedFault): string =>
  [target, kind, operation, answer, lastsMs > 0 ? `for ${lastsMs} ms` : undefined].filter(Boolean).join(' ');

async function apply({ members, sandbox }: Stage, fault: PlannedFault): Promise<void> {
  const member = members[fault.target];
  switch (fault.kind) {
    case 'kill':
      await member.kill();
      await sleep(fault.lastsMs);
      return await startAgain(member);
    case 'restart':
      await member.stop();
      await sleep(fault.lastsMs);
      return await startAgain(member);
    case 'pause':
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
      return void (await sandbox.setFault(toSandboxFault(fault)));
  }
}

const toSandboxFault = ({ kind, operation, answer }: PlannedFault): FaultInput => ({
  ...(answer ? strangeAnswers[answer] : kind === 'serverErrors' ? { kind: 'serverError' } : lostAnswer),
  ...(operation && { operation }),
  times: 2,
});

const lostAnswer = { kind: 'dropConnection', when: 'answer' } as const;

/** On a busy machine the server may need several attempts. */
async function startAgain(member: Member): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await member.start();
    } catch (error) {
      if (tries === 3) throw error;
    }
  }
}
