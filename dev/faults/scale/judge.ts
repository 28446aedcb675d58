import { defaultCadence } from '../../../src/config.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { quantile } from '../../bench/open-load.js';
import type { LedgerEntry } from '../../sandbox/ledger.js';
import { mostCallsWithin } from '../../sandbox/ledger-questions.js';
import { addRun, judgeDeliveries, type OrderRuns } from '../chaos/judge-deliveries.js';
import { allRuns } from '../chaos/runs.js';
import { grown, growthOf } from '../chaos/soak.js';
import type { StoredRow } from '../chaos/store-site.js';
import { together, type Verdict } from '../chaos/verdict.js';
import { announcedAccount, type Fleet, polledAccounts, requestsPerSecond } from './fleet.js';
import { accountOf, endOf, type LiveOrder, type Wanted } from './orders.js';
import type { Seen } from './watching.js';

/** The hour that is judged, in milliseconds since the epoch. */
export interface Hour {
  from: number;
  until: number;
}

const { activeMs, pushedMs } = defaultCadence;
/** How late reads may be, beside what is fair. */
const tolerance = 1.3;
/** So long no worker polls after a kill of the one with the watch, at most. */
const takeOverMs = 75_000;
/** The worker that takes a watch over may be the next one that is killed; more in a row would be a fault. */
const takeOversInARow = 2;
const windowMs = 10_000;

const liveOf = (account: string, { polled, announced }: Wanted): number =>
  account === announcedAccount ? announced : polled / polledAccounts.length;

/**
 * How often each account's orders were read, and how that compares with an even share of what it may ask for. `kills`: instants at which a
 * worker was killed. Whoever takes its watches over does not know when an order was last read, so it may wait for another round each time.
 */
export function judgeReads(
  calls: readonly LedgerEntry[],
  { from, until, kills }: Hour & { kills: readonly number[] },
  wanted: Wanted,
): Verdict {
  const reads = calls.filter(({ operation }) => operation === 'orderStatus' || operation === 'orderDetails');
  return together(
    [...polledAccounts, announcedAccount].map((account) => {
      const own = reads.filter(({ orderId }) => accountOf(orderId ?? '') === account);
      const perSecond = own.length / ((until - from) / 1_000);
      const shareMs = (liveOf(account, wanted) * 1_000) / perSecond;
      const fairMs = Math.max(shareMs, account === announcedAccount ? pushedMs : activeMs);
      const { calm, disturbed } = distancesOf(own, kills);
      const mostMs = fairMs * tolerance + takeOversInARow * (fairMs * tolerance + takeOverMs);
      const [p99, longest] = [quantile(calm, 0.99), quantile(disturbed, 1)];
      const busiest = mostCallsWithin(windowMs, own) / (windowMs / 1_000);
      const problems = [
        ...(p99 > fairMs * tolerance ? [`p99 between two reads is ${p99} ms, fair would be ${fairMs}`] : []),
        ...(longest > mostMs ? [`an order was not read for ${longest} ms in a take-over`] : []),
        ...(busiest > requestsPerSecond * tolerance ? [`${busiest} requests a second in ten seconds`] : []),
      ];
      return {
        problems: problems.map((problem) => `${account}: ${problem}`),
        figures: {
          [`${account}: reads a second`]: perSecond,
          [`${account}: fair between two reads, seconds`]: fairMs / 1_000,
          [`${account}: between two reads, p50`]: quantile(calm, 0.5) / 1_000,
          [`${account}: p99`]: p99 / 1_000,
          [`${account}: longest`]: quantile(calm, 1) / 1_000,
          [`${account}: with a kill of a worker between them, longest`]: longest / 1_000,
          [`${account}: busiest ten seconds, requests a second`]: busiest,
        },
      };
    }),
  );
}

/** Milliseconds between two reads of one order, sorted: without a kill between them, and with one. */
function distancesOf(reads: readonly LedgerEntry[], kills: readonly number[]) {
  const lastAt = new Map<string, number>();
  const apart: Record<'calm' | 'disturbed', number[]> = { calm: [], disturbed: [] };
  for (const { orderId = '', at } of reads) {
    const now = Date.parse(at);
    const before = lastAt.get(orderId) ?? now;
    lastAt.set(orderId, now);
    const isDisturbed = kills.some((kill) => kill >= before && kill <= now);
    if (before < now) apart[isDisturbed ? 'disturbed' : 'calm'].push(now - before);
  }
  return {
    calm: Float64Array.from(apart.calm).sort(),
    disturbed: Float64Array.from([0, ...apart.disturbed]).sort(),
  };
}

/** Has each order been seen through, and nothing twice? `sureMs`: so long after a change it must be known. */
export async function judgeOrders(
  { store, client }: Fleet,
  orders: readonly LiveOrder[],
  { from, until, sureMs }: Hour & { sureMs: number },
): Promise<Verdict> {
  const running = new Set<string>();
  for await (const { workflowId } of client.workflow.list({
    query: 'WorkflowType = "followOrder" AND ExecutionStatus = "Running"',
  }))
    running.add(workflowId);
  const readAt = Date.now();
  const { changes, attention } = await store.read();
  const rowsOf = new Map<string, StoredRow[]>();
  for (const row of changes) rowsOf.set(row.orderId, [...(rowsOf.get(row.orderId) ?? []), row]);
  const late: Record<'polled' | 'announced', number[]> = { polled: [], announced: [] };
  let skipped = 0;
  const problems = orders.flatMap((order) => {
    const rows = rowsOf.get(order.orderId) ?? [];
    const isAnnounced = order.account === announcedAccount;
    skipped += order.course.filter(({ at }) => at < readAt - sureMs).length - rows.length;
    for (const row of rows) {
      const step = order.course.find(({ status }) => status === row.status);
      const isOfHour = step !== undefined && step !== order.course[0] && step.at > from && step.at < until;
      if (isOfHour) late[isAnnounced ? 'announced' : 'polled'].push(row.at.getTime() - step.at);
    }
    const isRunning = running.has(
      followOrderId({ account: toAccountName(order.account), orderId: toOrderId(order.orderId) }),
    );
    const why = wrongRows(order, rows, readAt - sureMs) ?? wrongRun(order, isRunning, { readAt, sureMs });
    return why === null ? [] : [`order ${order.orderId}: ${why}`];
  });
  const open = attention.filter(({ isOver }) => !isOver);
  const sorted = { polled: Float64Array.from(late.polled).sort(), announced: Float64Array.from(late.announced).sort() };
  return {
    problems: [...problems, ...open.map(({ id, code }) => `${id} still waits for a person: ${code}`)],
    figures: {
      'orders followed': orders.length,
      'of them ended': orders.filter((order) => endOf(order) < readAt - sureMs).length,
      'changes in the store': changes.length,
      'statuses that no read met, since they were over': Math.max(0, skipped),
      'times that an order waited for a person': attention.length,
      'announced change known after, p50 seconds': quantile(sorted.announced, 0.5) / 1_000,
      'announced change, p99': quantile(sorted.announced, 0.99) / 1_000,
      'announced change, longest': quantile(sorted.announced, 1) / 1_000,
      'polled change known after, p50 seconds': quantile(sorted.polled, 0.5) / 1_000,
      'polled change, p99': quantile(sorted.polled, 0.99) / 1_000,
      'polled change, longest': quantile(sorted.polled, 1) / 1_000,
    },
  };
}

/** How the rows differ from what the service has; null if they do not. An order that was never read has none. */
export function wrongRows({ course }: LiveOrder, rows: readonly StoredRow[], sureUntil: number): string | null {
  const numbers = rows.map(({ change }) => change);
  if (numbers.some((number, i) => number !== i + 1)) return `has the numbers ${numbers.join(', ')}`;
  const words = course.map(({ status }) => status);
  const places = rows.map(({ status }) => words.indexOf(status ?? ''));
  if (places.some((place, i) => place <= (places[i - 1] ?? -1)))
    return `has ${rows.map(({ status }) => status).join(' > ')}, the service ${words.join(' > ')}`;
  const due = course.findLastIndex(({ at }) => at <= sureUntil);
  return (places.at(-1) ?? -1) >= due ? null : `shows ${rows.at(-1)?.status}, the service ${words[due]}`;
}

function wrongRun(
  order: LiveOrder,
  isRunning: boolean,
  { readAt, sureMs }: { readAt: number; sureMs: number },
): string | null {
  if (isRunning && endOf(order) < readAt - sureMs) return 'has ended, and its run has not';
  return !isRunning && endOf(order) > readAt ? 'has no run' : null;
}

/** Did every acknowledged delivery arrive? */
export async function judgeAnnounced({ sandbox, client }: Fleet, { emptyAt }: Seen): Promise<Verdict> {
  const runs = new Map<string, OrderRuns>();
  const readAt = Date.now();
  const failures: string[] = [];
  for await (const run of allRuns({ client }, 'WorkflowType = "followOrder" AND RideAccount = "business"')) {
    addRun(runs, run);
    failures.push(...run.taskFailures.map((failure) => `${run.workflowId}: ${failure}`));
  }
  const verdict = judgeDeliveries(await sandbox.deliveries(), { orders: runs, emptyAt, readAt });
  return together([verdict, { problems: failures, figures: {} }]);
}

/** Does the memory of any part grow, and did a process end by itself? */
export function judgeProcesses(fleet: Fleet, { memory, cpuMs, forMs }: Seen): Verdict {
  const growth = growthOf(memory);
  const members = [...fleet.workers, ...fleet.ingresses, fleet.desk, ...fleet.cluster.servers];
  const ends = members.flatMap((member) => member.ownEnds().map(({ code }) => `${member.name} ended with ${code}`));
  const figures: Record<string, number> = {};
  for (const { what, middle, last } of growth) {
    figures[`memory of ${what}, MB: second third`] = middle;
    figures[`memory of ${what}, MB: last third`] = last;
    figures[`memory of ${what}, MB: most`] = Math.max(...memory.map((sample) => sample[what] ?? 0));
  }
  for (const [part, ms] of Object.entries(cpuMs)) figures[`cores of ${part}`] = ms / forMs;
  return { problems: [...grown(growth), ...ends], figures };
}
