import { setTimeout as sleep } from 'node:timers/promises';
import { type Fault, runFaults } from './faults.js';
import { judge } from './judge.js';
import { whenUp } from './member.js';
import { createPlan, type Plan, processNames } from './plan.js';
import { stillRunning } from './runs.js';
import { openStage, type Stage, type StageOptions } from './stage.js';
import { startWork, subscribe, type WorkDone } from './work.js';

export interface ChaosOptions {
  seed: number;
  /** How long the faults last. */
  forMs: number;
  /** A `temporal` program. */
  temporalProgram: string;
  /** Default: faults of the processes. */
  trouble?: Trouble;
  say(line: string): void;
}

/** What disturbs a deployment. */
export interface Trouble {
  route?: NonNullable<StageOptions['route']>;
  /** Causes all faults. Resolves after the last one, with those that happened, as the judge is to see them. */
  cause(stage: Stage, plan: Plan, say: ChaosOptions['say']): Promise<{ faults: Fault[]; leftOut: number }>;
}

const faultsOfProcesses: Trouble = {
  async cause(stage, plan, say) {
    const faults = await runFaults(stage, plan, say);
    return { faults, leftOut: plan.faults.length - faults.length };
  },
};

/** The result of one run of the suite. */
export interface ChaosReport {
  seed: number;
  seconds: number;
  /** One line for each problem. */
  problems: string[];
  /** The folder with logs and database; null if there is no problem. */
  evidence: string | null;
  figures: Record<string, number>;
  faults: Record<string, number>;
  asked: Record<string, number>;
}

/** How long all work may take to end after the faults. */
const settleWithinMs = 300_000;
const upWithinMs = 120_000;
const sampleEveryMs = 500;

/** Starts a deployment, causes faults under load, waits until all work has ended, and judges the result. */
export async function runChaos({
  seed,
  forMs,
  temporalProgram,
  trouble: { route, cause } = faultsOfProcesses,
  say,
}: ChaosOptions): Promise<ChaosReport> {
  const plan = createPlan(seed, forMs);
  say(`seed ${seed}: ${plan.work.length} pieces of work in ${forMs / 1_000} s`);
  const tokenLifetimeSeconds = lifetimeFor(forMs);
  const stage = await openStage({ temporalProgram, tokenLifetimeSeconds, ...(route && { route }) });
  const journal = watchJournal(stage);
  try {
    await subscribe(stage);
    say('everything is up');
    let deadline = Number.POSITIVE_INFINITY;
    const work = await startWork(stage, plan.work, () => deadline);
    const [{ faults, leftOut: faultsLeftOut }] = await Promise.all([cause(stage, plan, say), work.begun]);
    const calmAt = Date.now();
    deadline = calmAt + settleWithinMs;
    say('the faults are over');
    await calm(stage);
    say('every process is up');
    await inTime(work.ended, deadline);
    say('all work has ended');
    await journal.whenEmpty(deadline); // deliveries to the anchors must arrive before their end
    await inTime(work.endAnchors(), deadline);
    const isHandedOver = await journal.whenEmpty(deadline);
    if (isHandedOver) say('the ingress has forwarded every delivery');
    const stuck = [...(isHandedOver ? [] : ['the forwarding of deliveries']), ...(await whenQuiet(stage, deadline))];
    const settledMs = Date.now() - calmAt;
    say(`all runs have ended after ${Math.round(settledMs / 1_000)} s; judging the result`);
    const { problems, figures } = await judge(stage, { done: work.done, faults, emptyAt: journal.emptyAt, stuck });
    stage.keeps = problems.length > 0;
    return {
      ...{ seed, seconds: forMs / 1_000, problems, evidence: stage.keeps ? stage.folder : null },
      figures: { ...figures, faultsLeftOut, settledMs },
      ...{ faults: countFaults(faults), asked: countAsked(work.done) },
    };
  } finally {
    journal.stop();
    await stage.close();
  }
}

/** Waits no longer than to the deadline. The judge reports what is missing then. */
const inTime = async (ending: Promise<unknown>, deadline: number): Promise<void> =>
  void (await Promise.race([ending, sleep(Math.max(0, deadline - Date.now()), undefined, { ref: false })]));

/** Short enough for several renewals in each run. */
const lifetimeFor = (forMs: number): number => (forMs < 120_000 ? 45 : 60);

/** Ends every fault of the sandbox, and waits until all processes are up. */
async function calm({ sandbox, members }: Stage): Promise<void> {
  await sandbox.clearFaults();
  await Promise.all(processNames.map((name) => whenUp(members[name], upWithinMs)));
}

/** Records when the journal was empty. */
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
    /** Waits until the journal is empty and the sandbox sends nothing more; false if that takes too long. */
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

/** The runs that go on without work. Lists of runs lag behind, so there must be none several times in a row. */
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
