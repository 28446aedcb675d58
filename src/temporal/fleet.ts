import type { Client } from '@temporalio/client';
import { isGrpc } from './run-errors.js';

// temporal.api.enums.v1.TaskQueueType
const taskKinds = { workflows: 1, activities: 2 } as const;

/** The kinds of tasks in a task queue; each has pollers of its own. */
export type TaskKind = keyof typeof taskKinds;

/** A process that polls a task queue. */
export interface Poller {
  /** As the worker names itself: by default the process id and the host name. Two workers in one process are one poller. */
  identity: string;
  /** When it last asked for a task or got one. Milliseconds since the epoch, by the server's clock. */
  lastAccessAt: number;
}

/** Who works, as the server sees it. */
export interface Fleet {
  /**
   * The pollers of a task queue in all its partitions, by their identity. One that was killed is listed for up to 75 s more; one that ended
   * in order is mostly gone at once. Rejects with an error of Temporal's client when the server does not answer within 5 s.
   */
  pollersOf(taskQueue: string, kind?: TaskKind): Promise<Poller[]>;
}

const withinMs = 5_000;

/** A poll ends after a minute, and the next follows at once; the server lists a poller for five minutes. */
const freshMs = 75_000;

/** Asks the server of this client, in its namespace. Costs one call to Temporal and one for each partition, none of which reads its database. */
export function createFleet(client: Client, now: () => number = Date.now): Fleet {
  const { namespace } = client.options;
  const ask = <T>(act: () => Promise<T>): Promise<T> => client.withDeadline(Date.now() + withinMs, act);

  /** The names under which the server keeps the parts of a task queue. Where it does not show them, the first part alone, which is named like the queue. */
  async function partitionsOf(taskQueue: string, kind: TaskKind): Promise<string[]> {
    try {
      const request = { namespace, taskQueue: { name: taskQueue } };
      const parts = await ask(() => client.workflowService.listTaskQueuePartitions(request));
      const ofKind = { workflows: parts.workflowTaskQueuePartitions, activities: parts.activityTaskQueuePartitions };
      return ofKind[kind].map(({ key }) => key ?? taskQueue);
    } catch (error) {
      if (isGrpc(error, 'UNIMPLEMENTED', 'PERMISSION_DENIED')) return [taskQueue];
      throw error;
    }
  }

  return {
    async pollersOf(taskQueue, kind = 'activities') {
      const parts = await partitionsOf(taskQueue, kind);
      const taskQueueType = taskKinds[kind];
      const describe = (name: string) =>
        ask(() => client.workflowService.describeTaskQueue({ namespace, taskQueue: { name }, taskQueueType }));
      const answers = await Promise.all(parts.map(describe));
      // A worker polls one partition now and another later, so only all of them together show it for certain.
      const lastAccess = new Map<string, number>();
      for (const { identity, lastAccessTime } of answers.flatMap(({ pollers }) => pollers ?? [])) {
        const at = Number(lastAccessTime?.seconds ?? 0) * 1_000;
        const isNewer = at >= Math.max(now() - freshMs, lastAccess.get(identity ?? '') ?? 0);
        if (identity && isNewer) lastAccess.set(identity, at);
      }
      return [...lastAccess].map(([identity, lastAccessAt]) => ({ identity, lastAccessAt }));
    },
  };
}
