import type { CliConfig } from '../config.js';
import type { AccountName } from '../domain/keys.js';
import { searchAttributeNames as names } from '../domain/search-attribute-names.js';
import { accountQueueOf } from '../domain/task-queues.js';
import { pollersOf, readWatch, type WatchHolder } from '../temporal/watches.js';
import type { Looking, Session } from './command.js';
import { followedQuery, isOfAccount } from './lists.js';
import { plain } from './text.js';

// Which processes answer: workers, the watch of an account, the ingress.

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

/** A warning for each queue that an order of this account needs and no worker polls. */
export async function missingWorkers(session: Session, account: AccountName): Promise<string[]> {
  const found = await Promise.all([judgeWorker(session), judgeWorker(session, account)]);
  return found.flatMap(({ result, message }) => (result === 'ok' ? [] : [message]));
}

/** Tells that a run of this account was started, with warnings about the workers that it needs. */
export async function tellStart(
  session: Session,
  { json, text, account }: { json: object; text: string; account: AccountName },
): Promise<void> {
  const warnings = await missingWorkers(session, account);
  session.tell({ ...json, warnings }, text);
  session.warn(warnings);
}

/** The watch of an account that a worker holds, or why no worker polls the orders. Null: none has to, since no order has been read yet. */
export async function findWatch(
  { client, config: { taskQueue }, inTime }: Looking,
  account: AccountName,
): Promise<(WatchHolder & { worker: string }) | string | null> {
  const watch = await readWatch(client, taskQueue, account);
  if (watch?.worker) return { ...watch, worker: watch.worker };
  const polled = followedQuery(taskQueue, isOfAccount(account), `${names.status} IS NOT NULL`);
  const { count } = await inTime(() => client.workflow.count(polled));
  const remedy = 'restart a worker that holds the credentials of this account: npm run worker';
  return count === 0 ? null : `no worker polls the live orders of this account (${count}); ${remedy}`;
}

const withinMs = 5_000;
const maxReason = 200;

/** The public URL of these settings, else the ingress on this machine: at the loopback address where it listens on all addresses. Null
 *  where port 0 lets the system choose the port. */
export function ingressUrl({ publicUrl, ingressHost, ingressPort }: CliConfig): string | null {
  if (publicUrl !== null) return publicUrl;
  if (ingressPort === 0) return null;
  const everywhere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const host = everywhere[ingressHost] ?? ingressHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${ingressPort}`;
}

/** Whether the ingress at `baseUrl` takes deliveries, as its `/readyz` says. `skipped`: something answers, but not with that page. Never
 *  throws. */
export async function judgeIngress(baseUrl: string): Promise<Health> {
  try {
    const answer = await fetch(`${baseUrl}/readyz`, { redirect: 'manual', signal: AbortSignal.timeout(withinMs) });
    const { status } = answer;
    const [line = ''] = (await answer.text()).slice(0, maxReason).split('\n');
    if (status === 200 && line === 'ready') return { result: 'ok', message: `${baseUrl} takes deliveries` };
    const why = plain(line) || 'HTTP 503';
    if (status === 503)
      return { result: 'failed', message: `the ingress at ${baseUrl} takes no deliveries now: ${why}` };
    const elsewhere = 'which is elsewhere where FARETRAIL_INGRESS_METRICS_PORT is set';
    return { result: 'skipped', message: `${baseUrl} answers, but not with /readyz (HTTP ${status}), ${elsewhere}` };
  } catch (error) {
    const { code } = ((error as Error).cause ?? error) as { code?: unknown }; // a number says nothing
    const remedy = 'start the ingress (npm run ingress), or correct FARETRAIL_PUBLIC_URL';
    return {
      result: 'failed',
      message: `no connection to ${baseUrl} (${typeof code === 'string' ? code : 'no answer'}); ${remedy}`,
    };
  }
}
