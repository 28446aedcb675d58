import type { CliConfig } from '../config.js';
import type { AccountName } from '../domain/keys.js';
import { searchAttributeNames as names } from '../domain/search-attribute-names.js';
import { accountQueueOf } from '../domain/task-queues.js';
import { pollersOf, readWatch, type TaskKind, type WatchHolder } from '../temporal/watches.js';
import { callTimeoutMs, type Session } from './command.js';
import { otherAccountsQuery } from './lists.js';
import { plain } from './text.js';

// Which processes answer: workers, the watch of an account, the ingress.

/** A task queue, and the kind of tasks in it. */
export interface WorkQueue {
  name: string;
  takes: TaskKind;
}

/** For all workflows, and for the activities outside the request budget of an account. */
export const mainQueue = ({ config }: Pick<Session, 'config'>): WorkQueue => ({
  name: config.taskQueue,
  takes: 'workflows',
});

/** For the requests of one account. */
export const accountQueue = ({ config }: Pick<Session, 'config'>, account: AccountName): WorkQueue => ({
  name: accountQueueOf(config.taskQueue, account),
  takes: 'activities',
});

/** Does a worker poll this queue? A killed worker counts for up to 75 s. */
export const hasWorker = async ({ client }: Pick<Session, 'client'>, { name, takes }: WorkQueue): Promise<boolean> =>
  (await pollersOf(client, name, takes)).length > 0;

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

/** The watch of an account that a worker holds, or why no worker polls the orders. Null: none has to, since no order has been read yet. */
export async function findWatch(
  { client, config: { taskQueue }, within }: Session,
  account: AccountName,
): Promise<(WatchHolder & { worker: string }) | string | null> {
  const watch = await readWatch(client, taskQueue, account);
  if (watch?.worker) return { ...watch, worker: watch.worker };
  const polled = `${otherAccountsQuery([], { account, taskQueue })} AND ${names.status} IS NOT NULL`;
  const { count } = await within(callTimeoutMs, () => client.workflow.count(polled));
  const remedy = 'restart a worker that holds the credentials of this account: npm run worker';
  return count === 0 ? null : `no worker polls the live orders of this account (${count}); ${remedy}`;
}

type IngressPlace = Pick<CliConfig, 'publicUrl' | 'ingressHost' | 'ingressPort'>;

const withinMs = 5_000;
const maxReason = 200;

/** The public URL of these settings, else the ingress on this machine: at the loopback address where it listens on all addresses. Null
 *  where port 0 lets the system choose the port. */
export function ingressUrl({ publicUrl, ingressHost, ingressPort }: IngressPlace): string | null {
  if (publicUrl !== null) return publicUrl;
  if (ingressPort === 0) return null;
  const everywhere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const host = everywhere[ingressHost] ?? ingressHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${ingressPort}`;
}

/** Whether the ingress at `baseUrl` takes deliveries, as its `/readyz` says, and the remedy. `skipped`: something answers, but not with
 *  that page. Never throws. */
export async function judgeIngress(baseUrl: string): Promise<{ result: 'ok' | 'failed' | 'skipped'; message: string }> {
  try {
    const answer = await fetch(`${baseUrl}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(withinMs) });
    const { status } = answer;
    const [line = ''] = (await answer.text()).slice(0, maxReason).split('\n');
    if (status === 200 && line === 'ready') return { result: 'ok', message: `${baseUrl} takes deliveries` };
    if (status !== 503)
      return {
        result: 'skipped',
        message: `${baseUrl} answers, but not with /readyz (HTTP ${status}), which is elsewhere where FARETRAIL_INGRESS_METRICS_PORT is set`,
      };
    const why = plain(line) || 'HTTP 503';
    return { result: 'failed', message: `the ingress at ${baseUrl} takes no deliveries now: ${why}` };
  } catch (error) {
    const remedy = 'start the ingress (npm run ingress), or correct FARETRAIL_PUBLIC_URL';
    return { result: 'failed', message: `no connection to ${baseUrl} (${obstacleOf(error)}); ${remedy}` };
  }
}

function obstacleOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const { code } = (cause ?? error) as { code?: unknown };
  return typeof code === 'string' ? code : 'no answer';
}
