import { setTimeout as sleep } from 'node:timers/promises';
import { createPlan } from '../faults/chaos/plan.js';
import type { PlannedWork } from '../faults/chaos/plan-work.js';
import { openStage, type Stage } from '../faults/chaos/stage.js';
import { startWork, subscribe } from '../faults/chaos/work.js';
import type { FaultInput } from '../sandbox/faults.js';
import { type Prometheus, startPrometheus } from '../stack/prometheus.js';
import { findDevServer } from '../stack/temporal/dev-server.js';

/** What the dashboard shows: a deployment under load, and what happened to it. */
export interface FleetRun {
  prometheus: Prometheus;
  fromMs: number;
  toMs: number;
  /** What happened, and when. */
  events: { atMs: number; text: string }[];
  close(): Promise<void>;
}

interface Happening {
  afterSeconds: number;
  text: string;
  bring(stage: Stage): Promise<void>;
}

const seed = 1;
const taskQueue = 'faretrail';
const tokenLifetimeSeconds = 120;

/** One thing after the other, with time between to see its traces. */
const story: readonly Happening[] = [
  {
    ...{ afterSeconds: 60, text: 'the service answers half of the reads with 500, for 40 s' },
    bring: (stage) =>
      withFaults(stage, 40_000, [
        { kind: 'serverError', operation: 'orderStatus', probability: 0.5 },
        { kind: 'serverError', operation: 'orderDetails', probability: 0.5 },
      ]),
  },
  {
    ...{ afterSeconds: 150, text: 'Temporal is away for 25 s' },
    bring: ({ members }) => takeAway(members.temporal, 25_000),
  },
  {
    ...{ afterSeconds: 255, text: 'the service ends all tokens' },
    bring: async ({ sandbox }) => void (await sandbox.revokeTokens()),
  },
  {
    ...{ afterSeconds: 315, text: 'the service forbids reads of partner orders, for 75 s' },
    bring: (stage) => withFaults(stage, 75_000, [{ kind: 'forbidden', operation: 'orderStatus' }]),
  },
  {
    ...{ afterSeconds: 450, text: 'a worker restarts' },
    bring: ({ members }) => takeAway(members['worker-2'], 5_000),
  },
];
const runForSeconds = 540;

/** Half as much at a time, and without the messages that no run can read. */
const calmly = (work: readonly PlannedWork[]): PlannedWork[] =>
  work.filter(({ kind }) => kind !== 'message').map((one) => ({ ...one, atMs: one.atMs * 2 }));

async function withFaults({ sandbox }: Stage, forMs: number, faults: readonly FaultInput[]): Promise<void> {
  const ids = await Promise.all(faults.map((fault) => sandbox.setFault(fault)));
  await sleep(forMs);
  for (const id of ids) await sandbox.clearFault(id);
}

async function takeAway(member: Stage['members']['temporal'], forMs: number): Promise<void> {
  await member.stop();
  await sleep(forMs);
  await member.start();
}

/** Runs two workers, an ingress, Temporal and the sandbox under the load of the fault suite, scraped by Prometheus. */
export async function runFleet(say: (line: string) => void): Promise<FleetRun> {
  const stage = await openStage({ temporalProgram: await findDevServer(say), tokenLifetimeSeconds, taskQueue });
  const targets = Object.entries(stage.metricsUrls).map(([instance, url]) => ({
    ...{ instance, host: new URL(url).host },
    job: instance === 'ingress' ? 'faretrail-ingress' : 'faretrail-worker',
  }));
  const prometheus = await startPrometheus({ folder: stage.folder, targets });
  const close = async () => {
    await prometheus.stop();
    await stage.close();
  };
  try {
    await subscribe(stage);
    const plan = createPlan(seed, runForSeconds * 500);
    const fromMs = Date.now();
    const toMs = fromMs + runForSeconds * 1_000;
    const working = await startWork(stage, calmly(plan.work), () => toMs);
    void working.ended.catch(() => undefined); // the picture is taken while some of it still goes on
    const events = await tell(stage, fromMs, say);
    await sleep(toMs - Date.now());
    return { prometheus, fromMs, toMs, events, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function tell(stage: Stage, fromMs: number, say: (line: string) => void): Promise<FleetRun['events']> {
  const events: FleetRun['events'] = [];
  for (const { afterSeconds, text, bring } of story) {
    await sleep(Math.max(0, fromMs + afterSeconds * 1_000 - Date.now()));
    say(text);
    events.push({ atMs: Date.now(), text });
    await bring(stage);
  }
  return events;
}
