import { setTimeout as sleep } from 'node:timers/promises';
import { type Fault, runFaults } from './faults.js';
import { judge } from './judge.js';
import { whenUp } from './member.js';
import { createPlan, processNames } from './plan.js';
import { stillRunning } from './runs.js';
import { openStage, type Stage } from './stage.js';
import { startWork, subscribe, type WorkDone } from './work.js';

export interface ChaosOptions {
  seed: number;
  /** How long things go wrong. */
  forMs: number;
  /** A `temporal` program. */
  temporalProgram: string;
  say(line: string): void;
}

/** What one run has shown. */
export interface ChaosReport {
  seed: number;
  seconds: number;
  /** What is wrong, one line each; none when all is well. */
  problems: string[];
  /** Where logs and database are left; null when all is well. */
  evidence: string | null;
  figures: Record<string, number>;
  faults: Record<string, number>;
  asked: Record<string, number>;
}

/** How long everything may take to come to its end once nothing goes wrong any more. */
const settleWithinMs = 300_000;
const upWithinMs = 120_000;
const sampleEveryMs = 500;

/** Starts a deployment, lets things go wrong while it is used, waits until all is quiet, and judges what is left. */
export async function runChaos({ seed, forMs, temporalProgram, say }: ChaosOptions): Promise<ChaosReport> {
  const plan = createPlan(seed, forMs);
  say(`seed ${seed}: ${plan.faults.length} faults and ${plan.work.length} pieces of work in ${forMs / 1_000} s`);
  const stage = await openStage({ temporalProgram, tokenLifetimeSeconds: lifetimeFor(forMs) });
  const journal = watchJournal(stage);
  try {
    await subscribe(stage);
    say('everything is up');
    let deadline = Number.POSITIVE_INFINITY;
    const work = await startWork(stage, plan.work, () => deadline);
    const [faults] = await Promise.all([runFaults(stage, plan, say), work.begun]);
    const calmAt = Date.now();
    deadline = calmAt + settleWithinMs;
    say('the faults are over');
    await calm(stage);
    say('every process is up');
    await inTime(work.ended, deadline);
    say('what was asked for has come to its end');
    await journal.whenEmpty(deadline); // what is under way to the anchors must find them open
    await inTime(work.endAnchors(), deadline);
    const isHandedOver = await journal.whenEmpty(deadline);
    if (isHandedOver) say('every delivery is handed over');
    const stuck = [...(isHandedOver ? [] : ['the handing over of deliveries']), ...(await whenQuiet(stage, deadline))];
    const settledMs = Date.now() - calmAt;
    say(`all is quiet after ${Math.round(settledMs / 1_000)} s; looking at what is left`);
    const { problems, figures } = await judge(stage, { done: work.done, faults, emptyAt: journal.emptyAt, stuck });
    stage.keeps = problems.length > 0;
    return {
      ...{ seed, seconds: forMs / 1_000, problems, evidence: stage.keeps ? stage.folder : null },
      figures: { ...figures, faultsLeftOut: plan.faults.length - faults.length, settledMs },
      ...{ faults: countFaults(faults), asked: countAsked(work.done) },
    };
  } finally {
    journal.stop();
    await stage.close();
  }
}

/** What is not there in time, the judge will miss. */
const inTime = async (ending: Promise<unknown>, deadline: number): Promise<void> =>
  void (await Promise.race([ending, sleep(Math.max(0, deadline - Date.now()), undefined, { ref: false })]));

/** Some renewals belong to every run. */
const lifetimeFor = (forMs: number): number => (forMs < 120_000 ? 45 : 60);

/** Ends every fault that goes on by itself, and waits for what is still starting. */
async function calm({ sandbox, members }: Stage): Promise<void> {
  await sandbox.clearFaults();
  await Promise.all(processNames.map((name) => whenUp(members[name], upWithinMs)));
}

/** Notes when the journal was empty. */
function watchJournal(stage: Stage) {
  const emptyAt: number[] = [];
  let isOver = false;
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const askedAt = Date.now();
      const metrics = await stage.metrics('ingress');
      if (metrics?.match(/^faretrail_journal_deliveries 0$/m)) emptyAt.push(askedAt);
      await sleep(sampleEveryMs);
    }
  };
  void watch();
  return {
    emptyAt,
    /** Waits until it is empty and nothing is going to be sent; false when that is not so in time. */
    async whenEmpty(deadline: number): Promise<boolean> {
      const isDone = async () => (await stage.sandbox.deliveryCounts()).retrying === 0;
      while (Date.now() < deadline && !(await isDone())) await sleep(sampleEveryMs);
      const since = Date.now();
      const isEmpty = () => emptyAt.some((at) => at >= since);
      while (Date.now() < deadline && !isEmpty()) await sleep(sampleEveryMs);
      return isEmpty();
    },
    stop(): void {
      isOver = true;
    },
  };
}

/** What goes on although nothing is left to do. Lists of runs lag behind, so it must stay quiet for a moment. */
async function whenQuiet(stage: Stage, deadline: number): Promise<string[]> {
  for (let quiet = 0; ; ) {
    const left = await stillRunning(stage);
    quiet = left.length === 0 ? quiet + 1 : 0;
    if (quiet === 3 || Date.now() > deadline) return left;
    await sleep(sampleEveryMs);
  }
}

function countFaults(faults: readonly Fault[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind, target } of faults) {
    const name = `${kind} ${target.startsWith('worker') ? 'worker' : target}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const countAsked = ({ asked }: WorkDone): Record<string, number> => ({ ...asked });
