import type { AccountName } from '../domain/keys.js';
import { callTimeoutMs, type Session } from './command.js';

// temporal.api.enums.v1.TaskQueueType
const taskKinds = { workflows: 1, calls: 2 } as const;

/** A worker polls at least every minute, but the server lists a poller for five minutes. */
const freshMs = 75_000;

/** A task queue, and the kind of tasks in it. */
export interface WorkQueue {
  name: string;
  takes: keyof typeof taskKinds;
}

/** For all workflows, and for the activities outside the request budget of an account. */
export const mainQueue = ({ config }: Pick<Session, 'config'>): WorkQueue => ({
  name: config.taskQueue,
  takes: 'workflows',
});

/** For the requests of one account. */
export const accountQueue = ({ config }: Pick<Session, 'config'>, account: AccountName): WorkQueue => ({
  name: `${config.taskQueue}.${account}`,
  takes: 'calls',
});

/** Does a worker poll this queue? A killed worker counts for up to 75 s. */
export async function hasWorker({ connection, namespace, within }: Session, queue: WorkQueue): Promise<boolean> {
  const { pollers } = await within(callTimeoutMs, () =>
    connection.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name: queue.name },
      taskQueueType: taskKinds[queue.takes],
    }),
  );
  const freshFrom = Date.now() - freshMs;
  return (pollers ?? []).some(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000 >= freshFrom);
}

/** A warning for each queue that an order of this account needs and no worker polls. */
export async function missingWorkers(session: Session, account: AccountName): Promise<string[]> {
  const queues = [mainQueue(session), accountQueue(session, account)];
  const isServed = await Promise.all(queues.map((queue) => hasWorker(session, queue)));
  return queues.filter((_, at) => !isServed[at]).map(noWorkerText);
}

/** What is missing, and the remedy. */
export const noWorkerText = ({ name, takes }: WorkQueue): string =>
  takes === 'workflows'
    ? `no worker polls task queue ${name}; start one: npm run worker`
    : `no worker polls task queue ${name}; start one that holds the credentials of this account: npm run worker`;
