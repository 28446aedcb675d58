import type { Client } from '@temporalio/client';

// temporal.api.enums.v1.TaskQueueType
const taskKinds = { workflows: 1, activities: 2 } as const;

/** The kinds of tasks in a task queue; each has pollers of its own. */
export type TaskKind = keyof typeof taskKinds;

/** Who works, as the server sees it. */
export interface Fleet {
  /**
   * The processes that poll a task queue, as they name themselves: by default the process id and the host name. One that was killed is
   * listed for up to 75 s more; one that ended in order is mostly gone at once. Rejects with an error of Temporal's client when the server
   * does not answer within 5 s.
   */
  pollersOf(taskQueue: string, kind?: TaskKind): Promise<string[]>;
}

const withinMs = 5_000;

/** A poll ends after a minute, and the next follows at once; the server lists a poller for five minutes. */
const freshMs = 75_000;

/**
 * Asks the server of this client, in its namespace: one call, which reads no database. The server passes an idle poll on to the partition
 * that is named like the queue, so this one lists a worker whose only poll began at another (seen with four partitions on server 1.31.2).
 */
export function createFleet(client: Client, now: () => number = Date.now): Fleet {
  const { namespace } = client.options;
  return {
    async pollersOf(taskQueue, kind = 'activities') {
      const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType: taskKinds[kind] };
      const ask = () => client.workflowService.describeTaskQueue(request);
      const { pollers } = await client.withDeadline(Date.now() + withinMs, ask);
      const oldest = (now() - freshMs) / 1_000;
      const fresh = pollers.filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= oldest);
      return [...new Set(fresh.flatMap(({ identity }) => identity || []))];
    },
  };
}

const rememberedMs = 600_000;

/**
 * Counts the processes that poll a task queue. A server that takes the queue over from another one learns of each process only at its next
 * poll, up to a minute later: so of the last ten minutes the most counts, and in the first minute another process is taken for granted.
 */
export function createProcessCount({ pollersOf }: Fleet, now: () => number = Date.now) {
  const queues = new Map<string, { firstAt: number; most: number; at: number }>();
  return async (taskQueue: string): Promise<number> => {
    const { length } = await pollersOf(taskQueue);
    const before = queues.get(taskQueue) ?? { firstAt: now(), most: 0, at: now() };
    const isMost = length >= before.most || now() - before.at >= rememberedMs;
    const after = isMost ? { ...before, most: length, at: now() } : before;
    queues.set(taskQueue, after);
    return Math.max(after.most, now() - after.firstAt < freshMs ? 2 : 1);
  };
}
