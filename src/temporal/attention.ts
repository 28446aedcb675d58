import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { QueryDefinition } from '@temporalio/common';
import { monotonicMs } from '../clock.js';
import type { Attention } from '../domain/attention.js';
import { callWaits } from '../domain/call.js';
import { parkReasonTexts } from '../domain/delivery.js';
import type { AccountName } from '../domain/keys.js';
import { isRefusedByStore, refusedByStore } from '../domain/notify/notices.js';
import { publishedDelivery, publishedMissed } from '../domain/published.js';
import { searchAttributeNames as names, quote } from '../domain/search-attribute-names.js';
import { shellWord } from '../domain/shell-word.js';
import { publishedLease } from '../domain/token-lease.js';
import {
  fromAccessTokenId,
  fromAccountWatchId,
  fromBusinessCallId,
  fromCompanyReportId,
  fromFollowOrderId,
  fromParkedDeliveryId,
  fromRequestRideId,
  fromSubscriptionId,
} from '../domain/workflow-ids.js';
import {
  orderTrailQuery,
  reportStatusQuery,
  rideStatusQuery,
  subscriptionStatusQuery,
  watchStatusQuery,
} from '../workflows/messages.js';
import { type PausedActivity, pausedActivities, pausedText, unpauseCommand } from './paused-activities.js';
import { runOf } from './runs.js';
import {
  allOf,
  attributeOf,
  type Found,
  isOfAccount,
  isRunning,
  type Looking,
  listRuns,
  openRuns,
  readEach,
} from './visibility.js';
import { findWatch, judgeWorker } from './watches.js';

// What needs a person: a list for commands and the desk.

/** The server's own attribute: which activities of a run are paused, or that the run itself is. */
const pauseAttribute = 'TemporalPauseInfo';

const rideTypes = "('followOrder','requestRide','changeRide')";
const inNeed = `(${names.attention} IS NOT NULL OR ${pauseAttribute} IS NOT NULL)`;

/** The running runs that need a person, rides first. Each part has a limit of its own, so that no flood of one hides another. */
const parts = {
  rides: `WorkflowType IN ${rideTypes} AND ${inNeed}`,
  others: `WorkflowType NOT IN ${rideTypes} AND WorkflowType != 'parkedDelivery' AND ${inNeed}`,
  /** These always do. */
  parked: "WorkflowType = 'parkedDelivery'",
} as const;

/** What needs a person, and how many runs of each part there are, listed or not. */
export interface RunsInNeed extends Found<RunInNeed> {
  totals: Readonly<Record<keyof typeof parts, number>>;
}

/** What needs a person: runs of every type, and accounts with orders that no worker reads or polls. `limit` and `parked` count runs to list. */
export async function findRunsInNeed(
  looking: Looking,
  { account, limit, parked = limit }: { account?: AccountName; limit: number; parked?: number },
): Promise<RunsInNeed> {
  const until = monotonicMs() + answersWithinMs;
  const findPart = async (part: keyof typeof parts, most: number) => {
    const query = allOf(isRunning, parts[part], isOfAccount(account));
    const { rows, hasMore } =
      most === 0
        ? { rows: [], hasMore: true }
        : await listRuns(looking, query, most, (info) => readOne(looking, info, until));
    if (!hasMore) return { rows, hasMore, total: rows.length };
    const { count } = await looking.inTime(() => looking.client.workflow.count(query));
    return { rows, hasMore, total: count };
  };
  const [rides, others, waiting] = await Promise.all([
    findPart('rides', limit),
    findPart('others', limit),
    findPart('parked', parked),
  ]);
  const accounts = await accountsInNeed(looking, account);
  return {
    rows: [...rides.rows, ...accounts, ...others.rows, ...waiting.rows].filter(isFirst),
    hasMore: [rides, others, waiting].some(({ hasMore }) => hasMore),
    totals: { rides: rides.total, others: others.total, parked: waiting.total },
  };
}

/** False if the watch of the account shows the same: its trouble for tokens and orders, its pause for an account without polls. */
function isFirst(run: RunInNeed, _: number, all: readonly RunInNeed[]): boolean {
  const watch = all.find((one) => one.kind === 'watch' && one.account === run.account);
  if (!watch) return true;
  if (run.kind === 'account') return run.code !== 'noWatch' || watch.paused.length === 0;
  return (run.kind !== 'token' && run.kind !== 'order') || run.paused.length > 0 || run.code !== watch.code;
}

/** More would use up what visibility takes in some seconds. */
const mostAccounts = 50;

/** The accounts with orders that no worker reads or polls. Mostly each has a watch, so two lists name them all. */
async function accountsInNeed(looking: Looking, account: AccountName | undefined): Promise<RunInNeed[]> {
  const accountsOf = async (limit: number, type: string, condition = `${names.account} IS NOT NULL`) => {
    const query = openRuns(looking.config.taskQueue, `WorkflowType = '${type}'`, condition, isOfAccount(account));
    return (await listRuns(looking, query, limit, (info) => [attributeOf(info, 'account') ?? ''])).rows;
  };
  const seen = await accountsOf(mostAccounts, 'accountWatch');
  while (seen.length < mostAccounts) {
    const others = seen.length === 0 ? undefined : `${names.account} NOT IN (${seen.map(quote)})`;
    const [name] = await accountsOf(1, 'followOrder', others);
    if (!name || seen.includes(name)) break;
    seen.push(name);
  }
  return await readEach(seen, async (name): Promise<RunInNeed[]> => {
    const account = name as AccountName;
    const about = { kind: 'account', account, id: name, workflowId: '', since: null } as const;
    const { result, message } = await judgeWorker(looking, account);
    if (result === 'failed') {
      const followed = await accountsOf(1, 'followOrder', isOfAccount(account)); // the watch may outlive its orders
      return followed.map(() => withCommand({ ...about, code: 'noWorker', message }));
    }
    const watch = await findWatch(looking, account);
    return typeof watch === 'string' ? [withCommand({ ...about, code: 'noWatch', message: watch })] : [];
  });
}

/** What kind of run needs a person. */
type RunKind =
  | 'account'
  | 'watch'
  | 'order'
  | 'ride'
  | 'change'
  | 'call'
  | 'subscription'
  | 'report'
  | 'token'
  | 'parked'
  | 'notices';

/** One run that needs a person. */
export interface RunInNeed {
  kind: RunKind;
  account: string;
  /** Names the run within its kind and account, as its commands take it. */
  id: string;
  /** Empty for an account. */
  workflowId: string;
  /**
   * The attention code; for a parked delivery the reason; for an account `noWorker` when none holds it, `noWatch` when
   * none polls it; `paused` for a run that needs a person only because somebody has paused it.
   */
  code: string;
  /** Both null when no worker answered. */
  message: string | null;
  since: string | null;
  /** The activities of the run that are paused. Until they are resumed, nothing else helps. */
  paused: readonly PausedActivity[];
  /** The command that helps or shows more, quoted for a shell. */
  command: string;
}

/** For the answers of all runs together, so that the command ends without a worker, too. */
const answersWithinMs = 8_000;

async function readOne({ client }: Looking, info: WorkflowExecutionInfo, until: number): Promise<RunInNeed[]> {
  const { workflowId } = info;
  const { kind, nameOf, query, shown } = runKinds[info.type] ?? {};
  const name = nameOf?.(workflowId, attributeOf(info, 'account') ?? '');
  if (!kind || !name) return []; // the id is not ours, so this run fails by itself
  const known = shown?.(info);
  const withinMs = Math.max(until - monotonicMs(), 1);
  const paused = await readPaused(client, info, withinMs);
  const code = known?.code ?? attributeOf(info, 'attention') ?? 'paused';
  if (code === 'paused' && paused.length === 0) return []; // resumed just now
  const answer =
    query &&
    (await runOf(client, workflowId)
      .query(query, { withinMs })
      .catch(() => null)); // null: no worker
  const { message = null, since = paused[0]?.since ?? null } = known ?? answer?.attention ?? {};
  const texts = [...(message === null ? [] : [message]), ...paused.map((one) => pausedText(workflowId, one))];
  return [withCommand({ kind, ...name, workflowId, code, message: texts.join(' ') || null, since, paused })];
}

/** The list says that a run is paused; its description says what is paused, by whom and since when. */
async function readPaused(
  client: Looking['client'],
  { workflowId, searchAttributes }: WorkflowExecutionInfo,
  withinMs: number,
): Promise<PausedActivity[]> {
  if (!searchAttributes[pauseAttribute]) return [];
  const found = await runOf(client, workflowId).find({ withinMs });
  return found ? pausedActivities(found) : [];
}

/** How the list shows the runs of a workflow type. */
interface Shown {
  kind: RunKind;
  /** `account`: that of the search attribute, for ids that do not name it. */
  nameOf(workflowId: string, account: string): Pick<RunInNeed, 'account' | 'id'> | undefined;
  /** Its answer has the attention. */
  query?: QueryDefinition<{ attention: Attention | null }>;
  /** The attention, where Temporal shows it without a worker. */
  shown?(info: WorkflowExecutionInfo): { code?: string; message: string; since: string } | undefined;
}

/** Reads a workflow id, and makes of its key what names the run in the account. */
const naming =
  <Key extends { account: string }>(
    toKey: (workflowId: string) => Key | undefined,
    toId: (key: Key) => string,
  ): Shown['nameOf'] =>
  (workflowId) => {
    const key = toKey(workflowId);
    return key && { account: key.account, id: toId(key) };
  };

/** For runs that have no name of their own in commands. */
const byWorkflowId: Shown['nameOf'] = (id, account) => ({ account, id });

const runKinds: Readonly<Record<string, Shown>> = {
  followOrder: { kind: 'order', nameOf: naming(fromFollowOrderId, (key) => key.orderId), query: orderTrailQuery },
  accountWatch: { kind: 'watch', nameOf: naming(fromAccountWatchId, (key) => key.account), query: watchStatusQuery },
  changeRide: { kind: 'change', nameOf: byWorkflowId },
  notices: {
    ...{ kind: 'notices', nameOf: byWorkflowId },
    shown({ memo }) {
      const [first, ...more] = publishedMissed(memo).filter(isRefusedByStore);
      const message = `The store refuses changes for what they hold: ${more.length + 1}. Correct the store, then send them again.`;
      return first && { code: refusedByStore, message, since: first.missedAt };
    },
  },
  requestRide: { kind: 'ride', nameOf: naming(fromRequestRideId, (key) => key.requestId), query: rideStatusQuery },
  subscription: {
    kind: 'subscription',
    ...{ nameOf: naming(fromSubscriptionId, (key) => key.eventType), query: subscriptionStatusQuery },
  },
  companyReport: { kind: 'report', nameOf: naming(fromCompanyReportId, (key) => key.about), query: reportStatusQuery },
  businessCall: {
    kind: 'call',
    nameOf: naming(fromBusinessCallId, ({ operation, key }) => `${operation}/${key}`),
    shown({ workflowId, startTime }) {
      const key = fromBusinessCallId(workflowId);
      return key && callWaits(key, startTime.toISOString());
    },
  },
  accessToken: {
    kind: 'token',
    nameOf: naming(fromAccessTokenId, ({ scope }) => scope || 'unscoped'),
    shown({ memo }) {
      const failure = publishedLease(memo)?.failure;
      return failure ? { message: failure.message, since: failure.at } : undefined;
    },
  },
  parkedDelivery: {
    kind: 'parked',
    nameOf: naming(fromParkedDeliveryId, (key) => key.deliveryId),
    shown({ memo, startTime }) {
      const { reason, receivedAt } = publishedDelivery(memo) ?? {};
      if (reason && receivedAt) return { code: reason, message: parkReasonTexts[reason], since: receivedAt };
      return { code: 'parked', message: 'No worker has handled it yet.', since: startTime.toISOString() };
    },
  },
};

const tokenCodes: readonly string[] = ['credentialsRejected', 'scopeRejected', 'grantRejected'];

/** The command that helps or shows more, word by word. */
function commandFor({ kind, account, id, code }: Pick<RunInNeed, 'kind' | 'account' | 'id' | 'code'>): string[] {
  if (kind === 'token' || tokenCodes.includes(code)) return ['token', 'list'];
  const probe = ['probe', account];
  const commands: Record<Exclude<RunKind, 'token'>, string[]> = {
    order: ['order', 'show', account, id],
    ride: code === 'outcomeUnknown' ? ['ride', 'resolve', account, id] : probe,
    subscription: [
      'subscription',
      ...(code === 'subscriptionSilent' || code === 'deliveriesUnverified'
        ? ['rotate', account, id]
        : ['list', '--account', account]),
    ],
    parked: ['delivery', 'route', account, id, '--order', 'ID'],
    account: ['doctor'],
    notices: ['notice', 'list'],
    ...{ watch: probe, call: probe, report: probe, change: probe },
  };
  return commands[kind];
}

/** The run with the command that helps. */
export function withCommand(
  run: Omit<RunInNeed, 'command' | 'paused'> & Partial<Pick<RunInNeed, 'paused'>>,
): RunInNeed {
  const { paused = [] } = run;
  const [first] = paused;
  const words = first ? unpauseCommand(run.workflowId, first) : commandFor(run);
  return { ...run, paused, command: words.map(shellWord).join(' ') };
}
