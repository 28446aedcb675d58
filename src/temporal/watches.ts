import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import type { WorkerDeploymentVersion } from '@temporalio/common';
import type { WatchPort } from '../activities/index.js';
import { deadlineIn, instantIn, type MonotonicClock, monotonicMs, type WallClock, wallMs } from '../clock.js';
import { attentionCodes } from '../domain/attention.js';
import { readInstant } from '../domain/instant.js';
import type { AccountName } from '../domain/keys.js';
import { searchAttributeNames as names, quote } from '../domain/search-attribute-names.js';
import { accountQueueOf } from '../domain/task-queues.js';
import {
  type AccountWatchInput,
  followedSinceMemoField,
  type ListedOrder,
  nextReadingId,
  type ShownOrder,
  type WatchPulse,
} from '../domain/watch.js';
import { accountWatchId, followOrderId, fromFollowOrderId, subscriptionId } from '../domain/workflow-ids.js';
import { changeSeenSignal, changesCountedSignal, watchedOrderQuery, watchToldSignal } from '../workflows/messages.js';
import { type PausedActivity, pausedActivities, pausedText } from './paused-activities.js';
import { completeActivity, decodeAll, runOf } from './runs.js';
import { startServing } from './starts.js';
import { attributeOf, countOpen, followedQuery, instantOf, isOfAccount, type Looking, listOpen } from './visibility.js';

const withinMs = 5_000;
/** The run may have to be replayed, with many others. */
const answerWithinMs = 10_000;

function shownOf(
  run: Pick<WorkflowExecutionInfo, 'searchAttributes' | 'typedSearchAttributes' | 'memo' | 'startTime'>,
): ShownOrder {
  const since = instantOf(run, 'since');
  const startedAt = run.startTime.toISOString();
  const followedSince = readInstant(run.memo?.[followedSinceMemoField]) ?? startedAt;
  return {
    rawStatus: attributeOf(run, 'status') ?? null,
    attention: attentionCodes.find((code) => code === attributeOf(run, 'attention')) ?? null,
    pushed: attributeOf(run, 'seenBy') === 'delivery',
    since: since ?? startedAt,
    scheduledAt: instantOf(run, 'pickup'),
    // A run that was reset starts anew.
    followedSince: since !== null && since < followedSince ? since : followedSince,
    isExact: since !== null,
  };
}

/** Temporal, as the watches of this process need it. `version`: that of this process; null if it has none. */
export function createWatchPort(client: Client, taskQueue: string, version: WorkerDeploymentVersion | null): WatchPort {
  const countProcesses = createProcessCount((queue) => pollersOf(client, queue));
  return {
    list(account) {
      const condition = `WorkflowType = 'followOrder' AND ${names.account} = ${quote(account)}`;
      return listOpen<ListedOrder>(client, { taskQueue, condition }, (info) => {
        const key = fromFollowOrderId(info.workflowId);
        const shown = shownOf(info);
        return key && shown.rawStatus !== null ? { ...key, ...shown } : null; // before its first read the run itself asks
      });
    },

    async readShown(key) {
      const found = await runOf(client, followOrderId(key)).find({ withinMs });
      if (!found) return null;
      const isPending = (found.raw.pendingActivities ?? []).some(({ activityId }) => activityId === nextReadingId);
      return { ...shownOf(found), isOpen: found.isOpen, isPending };
    },

    complete: (key, found) =>
      completeActivity(client, { workflowId: followOrderId(key), activityId: nextReadingId }, found, { withinMs }),

    async readOrder(key) {
      try {
        return await runOf(client, followOrderId(key)).query(watchedOrderQuery, { withinMs: answerWithinMs });
      } catch {
        return null; // no worker answers, or the run has ended: the next poll asks again
      }
    },

    changeSeen: (key, seen) => runOf(client, followOrderId(key)).signal(changeSeenSignal, seen, { withinMs }),

    start: (account) =>
      startServing(client, 'accountWatch', {
        account,
        workflowId: accountWatchId(account, taskQueue),
        taskQueue,
        args: [{ account } satisfies AccountWatchInput],
        staticSummary: `Polls all live orders of account ${account}`,
      }),

    tell: async (account, told) =>
      void (await runOf(client, accountWatchId(account, taskQueue)).signal(watchToldSignal, told, { withinMs })),

    async tellCounts(account, counts) {
      const id = subscriptionId({ account, eventType: 'status_changed' });
      await runOf(client, id).signal(changesCountedSignal, counts, { withinMs });
    },

    processes: (account) => countProcesses(accountQueueOf(taskQueue, account)),
    isSucceeded: async (account) =>
      version !== null && (await isSucceeded(client, accountQueueOf(taskQueue, account), version)),
    async fairShare(account) {
      const [watches, processes] = await Promise.all([
        countOpen(client, taskQueue, "WorkflowType = 'accountWatch'", withinMs),
        pollersOf(client, accountQueueOf(taskQueue, account)),
      ]);
      return Math.ceil(watches / Math.max(1, processes.length));
    },
    ping: () =>
      client.withDeadline(deadlineIn(withinMs), async () => void (await client.workflowService.getSystemInfo({}))),
  };
}

/** Who holds the watch of an account, as Temporal itself knows. */
export interface WatchHolder {
  /** How the process names itself; null while none does. */
  worker: string | null;
  /** What it heartbeats, at most half a minute old; null before the first. */
  pulse: WatchPulse | null;
  /** The pause that stops the watch; null if nobody has paused it. */
  paused: PausedActivity | null;
}

/** Needs no worker. Null: no watch runs. */
export async function readWatch(client: Client, taskQueue: string, account: AccountName): Promise<WatchHolder | null> {
  const found = await runOf(client, accountWatchId(account, taskQueue)).find({ withinMs });
  if (!found?.isOpen) return null;
  const [activity] = found.raw.pendingActivities ?? [];
  const isHeld = activity?.state === startedState;
  const [pulse] = await decodeAll(client, activity?.heartbeatDetails?.payloads).catch(() => []);
  return {
    worker: isHeld ? (activity?.lastWorkerIdentity ?? null) : null,
    pulse: (pulse as WatchPulse | undefined) ?? null,
    paused: pausedActivities(found)[0] ?? null,
  };
}

/** The watch of an account that a worker holds, or why no worker polls the orders. Null: none has to, since no order has been read yet. */
export async function findWatch(
  { client, config: { taskQueue }, inTime }: Looking,
  account: AccountName,
): Promise<(WatchHolder & { worker: string }) | string | null> {
  const watch = await readWatch(client, taskQueue, account);
  if (watch?.paused) return pausedText(accountWatchId(account, taskQueue), watch.paused);
  if (watch?.worker) return { ...watch, worker: watch.worker };
  const polled = followedQuery(taskQueue, isOfAccount(account), `${names.status} IS NOT NULL`);
  const { count } = await inTime(() => client.workflow.count(polled));
  const remedy = 'restart a worker that holds the credentials of this account: npm run worker';
  return count === 0 ? null : `no worker polls the live orders of this account (${count}); ${remedy}`;
}

// temporal.api.enums.v1.PendingActivityState
const startedState = 2;

// temporal.api.enums.v1.TaskQueueType
const taskKinds = { workflows: 1, activities: 2 } as const;

/** The kinds of tasks in a task queue; each has pollers of its own. */
export type TaskKind = keyof typeof taskKinds;

/** A poll ends after a minute, and the next follows at once; the server lists a poller for five minutes. */
const freshMs = 75_000;

/**
 * The processes that poll a task queue, as they name themselves: by default the process id and the host name. One that was killed is
 * listed for up to 75 s more; one that ended in order is mostly gone at once. Rejects with an error of Temporal's client when the server
 * does not answer within 5 s. One call, which reads no database. The server passes an idle poll on to the partition that is named like the
 * queue, so this one lists a worker whose only poll began at another (seen with four partitions on server 1.31.2).
 */
export async function pollersOf(
  client: Client,
  taskQueue: string,
  kind: TaskKind = 'activities',
  now: WallClock = wallMs,
): Promise<string[]> {
  const { pollers } = await describeQueue(client, taskQueue, kind);
  const oldest = instantIn(-freshMs, now) / 1_000;
  const fresh = pollers.filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= oldest);
  return [...new Set(fresh.flatMap(({ identity }) => identity || []))];
}

export function describeQueue(client: Client, taskQueue: string, kind: TaskKind) {
  const { namespace } = client.options;
  const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType: taskKinds[kind] };
  return client.withDeadline(deadlineIn(withinMs), () => client.workflowService.describeTaskQueue(request));
}

/**
 * Do the activities of a task queue go to workers of another version than `mine`? False while `mine` ramps, which gives
 * both a share, and while no version is current. Rejects like `pollersOf`; one call, which reads no database, too.
 */
export async function isSucceeded(client: Client, taskQueue: string, mine: WorkerDeploymentVersion): Promise<boolean> {
  const { versioningInfo } = await describeQueue(client, taskQueue, 'activities');
  const isMine = (version: VersionInfo): boolean =>
    version?.buildId === mine.buildId && version.deploymentName === mine.deploymentName;
  const { currentDeploymentVersion: current, rampingDeploymentVersion: ramping } = versioningInfo ?? {};
  return Boolean(current?.buildId) && !isMine(current) && !isMine(ramping);
}

type VersionInfo = { deploymentName?: string | null; buildId?: string | null } | null | undefined;

/** Whether a process does its work, or why not, with the remedy. `skipped`: that cannot be told from here. */
export interface Health {
  result: 'ok' | 'failed' | 'skipped';
  message: string;
}

/** Does a worker poll the queue of this account, or without one the queue of all workflows? A killed worker counts for up to 75 s. */
export async function judgeWorker({ client, config }: Looking, account?: AccountName): Promise<Health> {
  const queue = account === undefined ? config.taskQueue : accountQueueOf(config.taskQueue, account);
  const pollers = await pollersOf(client, queue, account === undefined ? 'workflows' : 'activities');
  if (pollers.length > 0) return { result: 'ok', message: `polls task queue ${queue}` };
  const whose = account === undefined ? '' : ' that holds the credentials of this account';
  return { result: 'failed', message: `no worker polls task queue ${queue}; start one${whose}: npm run worker` };
}

const rememberedMs = 600_000;

/**
 * Counts the processes that poll a task queue. A server that takes the queue over from another one learns of each process only at its next
 * poll, up to a minute later: so of the last ten minutes the most counts, and in the first minute another process is taken for granted.
 */
export function createProcessCount(
  pollers: (taskQueue: string) => Promise<string[]>,
  monotonic: MonotonicClock = monotonicMs,
) {
  const queues = new Map<string, { firstAt: number; most: number; at: number }>();
  return async (taskQueue: string): Promise<number> => {
    const { length } = await pollers(taskQueue);
    const before = queues.get(taskQueue) ?? { firstAt: monotonic(), most: 0, at: monotonic() };
    const isMost = length >= before.most || monotonic() - before.at >= rememberedMs;
    const after = isMost ? { ...before, most: length, at: monotonic() } : before;
    queues.set(taskQueue, after);
    return Math.max(after.most, monotonic() - after.firstAt < freshMs ? 2 : 1);
  };
}
