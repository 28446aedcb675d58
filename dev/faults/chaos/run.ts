import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFaretrailClient } from '../../../src/client/index.js';
import { fromParkedDeliveryId } from '../../../src/domain/workflow-ids.js';
import { clockAhead } from './clock.js';
import { type Fault, runFaults } from './faults.js';
import { judge } from './judge.js';
import { mayBeParked } from './judge-forger.js';
import { whenUp } from './member.js';
import { createPlan, createSoakPlan, type Plan, workerNames } from './plan.js';
import { stillRunning } from './runs.js';
import { type Growth, grown, watchGrowth } from './soak.js';
import { openStageOn, type Stage, type StageOptions } from './stage.js';
import { openDevServer } from './temporal-member.js';
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
  cause(stage: Stage, plan: Plan, say: ChaosOptions['say']): Promise<Course>;
}

interface Course {
  faults: Fault[];
  leftOut: number;
  /** Of a soak. */
  growth?: Growth[];
}

const faultsOfProcesses: Trouble = {
  async cause(stage, plan, say) {
    const faults = await runFaults(stage, plan, say);
    return { faults, leftOut: plan.faults.length - faults.length };
  },
};

const nothing: Trouble = {
  cause: async (stage, plan, say) => ({ faults: [], leftOut: 0, growth: await watchGrowth(stage, plan, say) }),
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
  /** What is special about the deployment. */
  deployment: string[];
  faults: Record<string, number>;
  asked: Record<string, number>;
  /** What a soak has looked at; empty without one. */
  growth: Growth[];
}

/** How long all work may take to end after the faults. */
const settleWithinMs = 420_000;
const upWithinMs = 120_000;
const sampleEveryMs = 500;

/** The fault suite on one development server. */
export async function runChaos({ seed, forMs, temporalProgram, trouble, say }: ChaosOptions): Promise<ChaosReport> {
  const place = { openTemporal: openDevServer(temporalProgram), ...(trouble && { trouble }) };
  return await runPlan(createPlan(seed, forMs), place, say);
}

/** Work on one development server without faults. What must not grow is looked at all the time. */
export async function runSoak({
  seed,
  forMs,
  temporalProgram,
  say,
}: Omit<ChaosOptions, 'trouble'>): Promise<ChaosReport> {
  const place = { openTemporal: openDevServer(temporalProgram), trouble: nothing };
  return await runPlan(createSoakPlan(seed, forMs), place, say);
}

type PlanPlace = Pick<StageOptions, 'openTemporal' | 'requestsPerSecond'> & Pick<ChaosOptions, 'trouble'>;

/** Starts a deployment, causes faults under load, waits until all work has ended, and judges the result. */
export async function runPlan(
  plan: Plan,
  { trouble: { route, cause } = faultsOfProcesses, ...place }: PlanPlace,
  say: ChaosOptions['say'],
): Promise<ChaosReport> {
  const { seed, forMs, deployment } = plan;
  say(`seed ${seed}: ${plan.work.length} pieces of work in ${forMs / 1_000} s`);
  const tokenLifetimeSeconds = lifetimeFor(forMs);
  const env = { FARETRAIL_DELIVERIES_PER_SECOND: '12' }; // a flood of some 20 s uses up its minute at once
  const stage = await openStageOn({ ...place, seed, tokenLifetimeSeconds, deployment, env, ...(route && { route }) });
  const journal = watchJournal(stage);
  try {
    await subscribe(stage);
    say('everything is up');
    stage.forger.begin();
    let deadline = Number.POSITIVE_INFINITY;
    const work = await startWork(stage, plan.work, () => deadline);
    const [{ faults, leftOut: faultsLeftOut, growth = [] }] = await Promise.all([cause(stage, plan, say), work.begun]);
    const calmAt = Date.now();
    deadline = calmAt + settleWithinMs;
    say('the faults are over');
    await calm(stage);
    await stage.forger.stop();
    say('every process is up');
    const revealedAt = Date.now();
    await reveal(stage);
    await inTime(work.ended, deadline);
    say('all work has ended');
    await journal.whenEmpty(deadline); // deliveries to the anchors must arrive before their end
    await inTime(work.endAnchors(), deadline);
    await journal.whenEmpty(deadline);
    await knockAtNewProcess(stage);
    const isHandedOver = await journal.whenEmpty(deadline);
    if (isHandedOver) say('the ingress has forwarded every delivery');
    const stuck = [...(isHandedOver ? [] : ['the forwarding of deliveries']), ...(await whenQuiet(stage, deadline))];
    const settledMs = Date.now() - calmAt;
    say(`all runs have ended after ${Math.round(settledMs / 1_000)} s; judging the result`);
    const { problems: wrong, figures } = await judge(stage, {
      done: work.done,
      faults,
      emptyAt: journal.emptyAt,
      revealedAt,
      stuck,
    });
    const problems = [...wrong, ...grown(growth)];
    stage.keeps = problems.length > 0;
    if (stage.keeps) writeFileSync(join(stage.folder, 'calls.json'), JSON.stringify(await stage.sandbox.ledger()));
    return {
      ...{ seed, seconds: forMs / 1_000, problems, evidence: stage.keeps ? stage.folder : null },
      figures: { ...figures, faultsLeftOut, settledMs },
      deployment: describe(stage),
      ...{ faults: countFaults(faults), asked: countAsked(work.done), growth },
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

/** Ends every fault of the sandbox, waits until all processes are up, and restarts the workers one by one with the right profile. */
async function calm({ sandbox, members }: Stage): Promise<void> {
  await sandbox.clearFaults();
  await Promise.all(Object.values(members).map((member) => whenUp(member, upWithinMs)));
  for (const name of workerNames) {
    await members[name].stop();
    await members[name].start();
    await whenUp(members[name], upWithinMs);
  }
}

/** Nothing genuine comes any more, so only the memo tells a new ingress process that deliveries are signed. */
async function knockAtNewProcess({ members, forger }: Stage): Promise<void> {
  await members.ingress.stop();
  await members.ingress.start();
  await whenUp(members.ingress, upWithinMs);
  await forger.knock();
}

/** Invented orders turn out to be real, so that each delivery that was not refused can arrive. */
async function reveal({ sandbox, stranger, forger }: Stage): Promise<void> {
  const script = [{ status: 'Completed', afterMs: 0 }];
  const forged = forger.sent.filter(({ isInvented, answer }) => isInvented && (answer === 202 || answer === null));
  const orders = [...stranger.sent, ...forged].map(({ orderId }) => ({
    interface: 'business' as const,
    orderId,
    script,
  }));
  for (let from = 0; from < orders.length; from += 500) await sandbox.addOrders(orders.slice(from, from + 500));
}

function describe({ deployment: { encrypts, versioned, clockAheadMs }, disk, store }: Stage): string[] {
  const isAhead = Object.keys(clockAhead(clockAheadMs)).length > 0;
  const ahead = isAhead
    ? `clock of worker-2 ahead by ${Math.round(clockAheadMs / 1_000)} s`
    : 'no libfaketime is installed';
  return [
    encrypts ? 'payloads encrypted' : 'payloads in clear',
    versioned ? 'two versions of the workers' : 'one version of the workers',
    clockAheadMs === 0 ? 'clocks right' : ahead,
    ...(store ? ['changes in a store'] : []),
    disk.isOwn ? 'journal on a disk of its own' : 'disk never full, since this user may not mount one',
  ];
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
    await discard(stage, left);
    quiet = left.length === 0 ? quiet + 1 : 0;
    if (quiet === 3 || Date.now() > deadline) return left;
    await sleep(sampleEveryMs);
  }
}

/** Plays the person who finds forged deliveries that an ingress took before it could check them. */
async function discard({ client, taskQueue, forger }: Stage, running: readonly string[]): Promise<void> {
  const parked = mayBeParked(forger.sent);
  const rides = createFaretrailClient({ client, taskQueue });
  for (const workflowId of running.filter((id) => parked.has(id))) {
    const { account, deliveryId } = fromParkedDeliveryId(workflowId) ?? {};
    if (account && deliveryId)
      await rides
        .getParked(account, deliveryId)
        .discard('forged')
        .catch(() => undefined);
  }
}

function countFaults(faults: readonly Fault[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind, target } of faults) {
    const name = `${kind} ${target.replace(/-\d$/, '')}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const countAsked = ({ asked }: WorkDone): Record<string, number> => ({ ...asked });
