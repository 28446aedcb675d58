import type { Fault } from './faults.js';
import { judgeBudget } from './judge-budget.js';
import { addRun, judgeDeliveries, type OrderRuns } from './judge-deliveries.js';
import { judgeForger, mayBeParked } from './judge-forger.js';
import { judgeNotices } from './judge-notices.js';
import { judgeSecrets, secretsOf } from './judge-secrets.js';
import { judgeStore } from './judge-store.js';
import { acknowledgedOf, inventedPrefix, judgeStranger } from './judge-stranger.js';
import { judgeTokens } from './judge-tokens.js';
import { judgeWork } from './judge-work.js';
import { findLeaks } from './leaks.js';
import { isOfTemporal, type Place } from './plan.js';
import { anchorIds } from './plan-work.js';
import { provenAddresses } from './proven-addresses.js';
import { allRuns, type Run } from './runs.js';
import type { Stage } from './stage.js';
import { together, type Verdict } from './verdict.js';
import type { WorkDone } from './work.js';

/** What the judge knows of the run of the suite. */
export interface Evidence {
  done: WorkDone;
  faults: readonly Fault[];
  /** When the journal was empty, in milliseconds since the epoch. */
  emptyAt: readonly number[];
  /** When the invented orders became real. */
  revealedAt: number;
  /** Work that was not over when the time to settle ended: runs, or the forwarding of deliveries. */
  stuck: readonly string[];
}

/** Judges everything once all work is over. */
export async function judge(stage: Stage, { done, faults, emptyAt, revealedAt, stuck }: Evidence): Promise<Verdict> {
  const { sandbox, stranger, forger, tokenLifetimeMs: lifetimeMs } = stage;
  const ingressStarts = stage.members.ingress.starts().map(({ at }) => at);
  const secrets = await secretsOf(stage);
  const readAt = Date.now();
  const mayBe = { misspelt: done.misspelt, parked: mayBeParked(forger.sent) };
  const { verdict: runs, orders, inventedStarts, traces } = await judgeRuns(stage, secrets, mayBe);
  const ledger = await sandbox.ledger();
  const requests = ledger.filter(({ operation }) => operation === 'partnerToken' || operation === 'businessToken');
  return together([
    await judgeWork(sandbox, done),
    await judgeNotices(stage, done),
    await judgeStore(stage, done),
    judgeStranger(stranger, {
      ...{ ledger, anchorIds, startedAt: inventedStarts.filter((at) => at < revealedAt) },
      ingresses: ingressStarts.filter((at) => at < revealedAt).length,
      strangeReads: 2 * faults.filter(({ kind }) => kind === 'strangeAnswers').length,
    }),
    judgeForger(forger.sent, {
      traces: { ...traces, asked: new Set(ledger.flatMap(({ orderId }) => orderId ?? [])) },
      addresses: await provenAddresses(stage),
      starts: ingressStarts,
      outages: faults.filter(({ target }) => isOfTemporal(target)),
    }),
    judgeDeliveries([...(await sandbox.deliveries()), ...acknowledgedOf(stranger)], { orders, emptyAt, readAt }),
    judgeTokens(requests, { faults, lifetimeMs }),
    judgeBudget(ledger, stage.requestsPerSecond),
    { problems: stuck.map((id) => `${id} goes on`), figures: { upstreamCalls: ledger.length } },
    runs,
    judgeProcesses(stage, faults),
    await judgeSecrets(stage, secrets),
  ]);
}

/** Ids of runs that may end in another way than others. */
interface MayBe {
  misspelt: ReadonlySet<string>;
  parked: ReadonlySet<string>;
}

async function judgeRuns(stage: Stage, secrets: Record<string, string>, mayBe: MayBe) {
  const traces = { runs: new Set<string>(), deliveries: new Set<string>() };
  const orders = new Map<string, OrderRuns>();
  const inventedStarts: number[] = [];
  const problems: string[] = [];
  const figures = { runs: 0, events: 0, longestHistory: 0 };
  for await (const run of allRuns(stage)) {
    if (run.type === 'followOrder') addRun(orders, run);
    traces.runs.add(run.workflowId);
    for (const id of run.deliveries) traces.deliveries.add(id);
    if (run.workflowId.startsWith(inventedPrefix)) inventedStarts.push(run.startedAt);
    const leaks = findLeaks(secrets, { [run.workflowId]: Buffer.from(run.text) });
    problems.push(...problemsOf(run, mayBe), ...leaks.map((leak) => `secret found: ${leak}`));
    figures.runs += 1;
    figures.events += run.events;
    figures.longestHistory = Math.max(figures.longestHistory, run.events);
  }
  return { orders, inventedStarts, traces, verdict: { problems, figures } };
}

function problemsOf({ workflowId, type, status, taskFailures, attention }: Run, { misspelt, parked }: MayBe): string[] {
  const isRunning = status === 'RUNNING';
  const isWell = isRunning || status === 'COMPLETED' || status === 'CONTINUED_AS_NEW';
  // The work that started rides and calls reports their failures.
  const isTold = status === 'FAILED' && (type === 'requestRide' || type === 'businessCall');
  const isRefused = status === 'FAILED' && misspelt.has(workflowId);
  return [
    ...(isWell || isTold || isRefused ? [] : [`${workflowId} is ${status}`]),
    ...(isRunning && attention ? [`${workflowId} shows the attention ${attention}`] : []),
    ...(type === 'parkedDelivery' && !parked.has(workflowId) ? [`${workflowId}: a delivery was parked`] : []),
    ...taskFailures.map((failure) => `${workflowId}: a workflow task failed: ${failure}`),
  ];
}

/** The time after which a worker that does not reach Temporal ends. */
const patienceMs = 20_000;

/** So long a pause in the middle of workflow code may cost a worker its process: the SDK cuts the code off, and Node ends. */
const pauseOfCodeMs = 5_000;

/**
 * Only a worker that finds no Temporal server or was paused in workflow code may end by itself, and a server that finds no database. The suite
 * starts them again.
 */
function judgeProcesses({ members }: Stage, faults: readonly Fault[]): Verdict {
  const ends = Object.values(members).flatMap(({ name, ownEnds }) => ownEnds().map((end) => ({ name, ...end })));
  const needs = (name: string, target: Place): boolean =>
    name.startsWith('worker') ? isOfTemporal(target) : name.startsWith('server') && target === 'postgres';
  const isExcused = (name: string, at: number) =>
    faults.some(
      ({ target, kind, beganAt, endedAt }) =>
        (needs(name, target) && beganAt <= at && endedAt >= at - patienceMs) ||
        (target === name &&
          (kind === 'pause' || kind === 'freeze') &&
          endedAt - beganAt > pauseOfCodeMs &&
          Math.abs(at - endedAt) < patienceMs),
    );
  const wrong = ends.filter(({ name, at }) => !isExcused(name, at));
  return {
    problems: wrong.map(
      ({ name, at, code }) => `${name} ended by itself with ${code} at ${new Date(at).toISOString()}`,
    ),
    figures: { faults: faults.length, ownEnds: ends.length },
  };
}
