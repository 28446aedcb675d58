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
