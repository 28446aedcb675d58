import type { WorkflowExecutionInfo } from '@temporalio/client';
import { type Attention, isConcernCode } from '../domain/attention.js';
import { callWaits } from '../domain/call.js';
import { parkReasonTexts } from '../domain/delivery.js';
import type { AccountName } from '../domain/keys.js';
import { publishedDelivery } from '../domain/published.js';
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
import { runOf } from '../temporal/runs.js';
import {
  orderTrailQuery,
  reportStatusQuery,
  rideStatusQuery,
  subscriptionStatusQuery,
  watchStatusQuery,
} from '../workflows/messages.js';
import { rideAccountKey, rideAttentionKey } from '../workflows/search-attributes.js';
import { accountOption, limitOption } from './arguments.js';
import { type AddCommand, addCommand, quoted, type Session } from './command.js';
import { attentionQuery, type Found, listing, listRuns, otherAccountsQuery, readEach } from './lists.js';
import { accountQueue, findWatch, hasWorker, noWorkerText } from './processes.js';
import { type Columns, utc } from './text.js';

const help = `
Lists running orders, rides, calls, subscriptions, reports and tokens that need
a person, watches with the trouble of their whole account, all parked
deliveries, and accounts with followed orders that no worker holds or polls,
each with the command that helps or shows more. The list is about a second
behind the runs.`;

/** `attention`: the runs of every type that need a person. */
export const addAttention: AddCommand = (program, run) => {
  const does = 'list what needs a person, and the command that helps';
  addCommand(program, 'attention', { does, examples: ['', '--account business --json'], more: help })
    .option(...accountOption)
    .option(...limitOption)
    .action(run(listRunsInNeed));
};

async function findRunsInNeed(
  session: Session,
  { account, limit }: { account?: AccountName; limit: number },
): Promise<Found<RunInNeed>> {
  const until = Date.now() + answersWithinMs;
  const query = attentionQuery(account);
  const { rows, hasMore } = await listRuns(session, { query, limit }, (info) => readOne(session, info, until));
  const accounts = await accountsInNeed(session, account);
  return { rows: [...accounts, ...rows.filter(isFirst)], hasMore };
}

/** False for a token or an order whose trouble the watch of the account shows for all its orders. */
const isFirst = ({ kind, account, code }: RunInNeed, _: number, all: readonly RunInNeed[]): boolean =>
  (kind !== 'token' && kind !== 'order') ||
  !all.some((one) => one.kind === 'watch' && one.account === account && one.code === code);

/** More would use up what visibility takes in some seconds. */
const mostAccounts = 50;

/** The accounts with orders that no worker reads or polls. */
async function accountsInNeed(session: Session, account: AccountName | undefined): Promise<RunInNeed[]> {
  const seen: string[] = [];
  while (seen.length < mostAccounts) {
    const query = otherAccountsQuery(seen, { account, taskQueue: session.config.taskQueue });
    const { rows } = await listRuns(session, { query, limit: 1 }, (info) => [
      info.typedSearchAttributes.get(rideAccountKey),
    ]);
    const [name] = rows;
    if (name === undefined || seen.includes(name)) break;
    seen.push(name);
  }
  return await readEach(seen, async (name): Promise<RunInNeed[]> => {
    const account = name as AccountName;
    const about = { kind: 'account', account, id: name, workflowId: '', since: null } as const;
    const queue = accountQueue(session, account);
    if (!(await hasWorker(session, queue)))
      return [withCommand({ ...about, code: 'noWorker', message: noWorkerText(queue) })];
    const watch = await findWatch(session, account);
    return typeof watch === 'string' ? [withCommand({ ...about, code: 'noWatch', message: watch })] : [];
  });
}

/** What kind of run needs a person. */
type RunKind = 'account' | 'watch' | 'order' | 'ride' | 'call' | 'subscription' | 'report' | 'token' | 'parked';

/** One run that needs a person. */
export interface RunInNeed {
  kind: RunKind;
  account: string;
  /** Names the run within its kind and account, as its commands take it. */
  id: string;
  /** Empty for an account. */
  workflowId: string;
  /** The attention code; for a parked delivery the reason; for an account `noWorker` when none holds it, `noWatch` when none polls it. */
  code: string;
  /** Both null when no worker answered. */
  message: string | null;
  since: string | null;
  /** The command that helps or shows more, quoted for a shell. */
  command: string;
}

/** What the list shows of a run, and the query for the rest. */
interface Recognised {
  kind: RunKind;
  account: string;
  id: string;
  /** Its attention, where Temporal shows it without a worker. */
  shown?: { code?: string; message: string; since: string } | undefined;
  /** A query whose answer has an `attention`. */
  query?: string;
}

/** For the answers of all runs together, so that the command ends without a worker, too. */
const answersWithinMs = 8_000;

async function readOne(session: Session, info: WorkflowExecutionInfo, until: number): Promise<RunInNeed[]> {
  const recognised = toRecognised(info);
  if (!recognised) return []; // the id is not ours, so this run fails by itself
  const { shown, query, ...named } = recognised;
  const attention = query === undefined ? shown : await readAttention(session, info.workflowId, query, until);
  const code = shown?.code ?? info.typedSearchAttributes.get(rideAttentionKey) ?? '-';
  const { message = null, since = null } = attention ?? {};
  return [withCommand({ ...named, workflowId: info.workflowId, code, message, since })];
}

async function readAttention(
  { client }: Session,
  workflowId: string,
  query: string,
  until: number,
): Promise<Attention | undefined> {
  try {
    const withinMs = Math.max(until - Date.now(), 1);
    const answer = await runOf(client, workflowId).query<{ attention: Attention | null }>(query, { withinMs });
    return answer.attention ?? undefined;
  } catch {
    return undefined;
  }
}

function toRecognised({ type, workflowId, memo, startTime }: WorkflowExecutionInfo): Recognised | undefined {
  switch (type) {
    case 'followOrder':
      return named('order', fromFollowOrderId(workflowId), 'orderId', { query: orderTrailQuery.name });
    case 'accountWatch':
      return named('watch', fromAccountWatchId(workflowId), 'account', { query: watchStatusQuery.name });
    case 'requestRide':
      return named('ride', fromRequestRideId(workflowId), 'requestId', { query: rideStatusQuery.name });
    case 'subscription':
      return named('subscription', fromSubscriptionId(workflowId), 'eventType', {
        query: subscriptionStatusQuery.name,
      });
    case 'companyReport':
      return named('report', fromCompanyReportId(workflowId), 'about', { query: reportStatusQuery.name });
    case 'businessCall': {
      const key = fromBusinessCallId(workflowId);
      const shown = key && callWaits(key, startTime.toISOString());
      return key && { kind: 'call', account: key.account, id: `${key.operation}/${key.key}`, shown };
    }
    case 'accessToken': {
      const key = fromAccessTokenId(workflowId);
      const failure = publishedLease(memo)?.failure;
      const shown = failure ? { message: failure.message, since: failure.at } : undefined;
      return key && { kind: 'token', account: key.account, id: key.scope || 'unscoped', shown };
    }
    case 'parkedDelivery': {
      const { reason, receivedAt } = publishedDelivery(memo) ?? {};
      const shown =
        reason && receivedAt
          ? { code: reason, message: parkReasonTexts[reason], since: receivedAt }
          : { code: 'parked', message: 'No worker has handled it yet.', since: startTime.toISOString() };
      return named('parked', fromParkedDeliveryId(workflowId), 'deliveryId', { shown });
    }
    default:
      return undefined;
  }
}

/** A run whose id is one field of its key. */
function named<Name extends string>(
  kind: RunKind,
  key: ({ account: string } & Record<Name, string>) | undefined,
  name: Name,
  attention: Pick<Recognised, 'shown' | 'query'>,
): Recognised | undefined {
  return key && { kind, account: key.account, id: key[name], ...attention };
}

const tokenCodes: readonly string[] = ['credentialsRejected', 'scopeRejected', 'grantRejected'];

/** The command that helps or shows more, word by word. */
function commandFor({ kind, account, id, code }: Pick<RunInNeed, 'kind' | 'account' | 'id' | 'code'>): string[] {
  if (kind === 'token' || tokenCodes.includes(code)) return ['token', 'list'];
  switch (kind) {
    case 'order':
      return ['order', 'show', account, id];
    case 'ride':
      return code === 'outcomeUnknown' ? ['ride', 'resolve', account, id] : ['probe', account];
    case 'subscription':
      return code === 'subscriptionSilent'
        ? ['subscription', 'rotate', account, id]
        : ['subscription', 'list', '--account', account];
    case 'parked':
      return ['delivery', 'route', account, id, '--order', 'ID'];
    case 'account':
      return ['doctor'];
    case 'watch':
    case 'call':
    case 'report':
      return ['probe', account];
  }
}

/** The run with the command that helps. */
export const withCommand = (run: Omit<RunInNeed, 'command'>): RunInNeed => ({
  ...run,
  command: commandFor(run).map(quoted).join(' '),
});

/** The list of runs that need a person. Ids are not cut, since people copy them. */
export const attentionColumns: Columns<RunInNeed> = {
  kind: ({ kind }) => kind,
  account: ({ account }) => account,
  id: ({ id }) => id,
  attention: ({ code }) => code,
  'since (UTC)': ({ since }) => utc(since),
  'what helps': ({ command }) => command,
};

const aboutRides =
  'about the ride itself. Ask the dispatch desk of the\nservice; nothing is wrong with faretrail, and nothing in the contract profile.';

/** Which codes are for the dispatch desk. */
export function concernNotes(runs: readonly RunInNeed[]): string[] {
  const concerns = [...new Set(runs.map(({ code }) => code).filter(isConcernCode))];
  return concerns.length === 0 ? [] : [`${concerns.join(', ')}: ${aboutRides}`];
}

const listRunsInNeed = listing({
  name: 'runs',
  empty: 'Nothing needs a person.',
  columns: attentionColumns,
  notes: concernNotes,
  find: findRunsInNeed,
});
