import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, ConnectionLike, WorkflowExecutionInfo } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import pMap from 'p-map';
import { deadlineIn, type MonotonicClock, monotonicMs } from '../clock.js';
import { type AttentionCode, concernCodes, troubleCodes } from '../domain/attention.js';
import { FaretrailError } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { searchAttributeNames as names, quote, searchAttributeTypes } from '../domain/search-attribute-names.js';
import { parkedDeliveryId } from '../domain/workflow-ids.js';
import { grpcErrorOf, isGrpc } from './run-errors.js';

// The lists of Temporal: the search attributes that they need, the runs that they hold, and how many of a kind.

/** What the check needs of a connection; both kinds of connection fit. */
export type SearchAttributeServices = Pick<ConnectionLike, 'operatorService' | 'workflowService' | 'withDeadline'>;

export type SearchAttributesErrorCode = 'SearchAttributesMissing' | 'SearchAttributesMistyped' | 'NamespaceUnknown';

/** The namespace lacks what our runs need; the message holds the command that repairs it. Not for lost connections. */
export class SearchAttributesError extends FaretrailError<SearchAttributesErrorCode> {
  override readonly name = 'SearchAttributesError';
}

const wanted = Object.entries(searchAttributeTypes).map(([name, type]) => ({ name, type }));
type Wanted = (typeof wanted)[number];
/** Their places are those of temporal.api.enums.v1.IndexedValueType. */
const typeNames = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];

const callTimeoutMs = 10_000;
// Servers cache the list, with Elasticsearch for up to a minute.
const visibleWithinMs = 90_000;
const lookAgainMs = 250;

/**
 * Checks that our search attributes exist, and registers missing ones where the server allows it. Call it before any start: the
 * server refuses a start with an unknown attribute, and an upsert fails its workflow task without end. False: the server shows
 * neither the list nor the answer of a query, so nothing could be checked. Throws `SearchAttributesError`.
 */
export async function ensureSearchAttributes(services: SearchAttributeServices, namespace: string): Promise<boolean> {
  const listed = await list(services, namespace);
  if (listed === 'denied') return checkByQuery(services, namespace);
  refuseOtherTypes(listed, namespace);
  const missing = wanted.filter(({ name }) => !(name in listed));
  if (missing.length > 0) {
    await register(services, namespace, missing);
    await waitUntilListed(services, namespace, missing);
  }
  return true;
}

type Listed = Record<string, number | null | undefined>;

async function list(services: SearchAttributeServices, namespace: string): Promise<Listed | 'denied'> {
  try {
    const reply = await call(services, () => services.operatorService.listSearchAttributes({ namespace }));
    return reply.customAttributes ?? {};
  } catch (error) {
    if (isDenial(error)) return 'denied';
    throw toNamespaceError(error);
  }
}

async function register(services: SearchAttributeServices, namespace: string, missing: Wanted[]): Promise<void> {
  const searchAttributes = Object.fromEntries(missing.map(({ name, type }) => [name, typeNames.indexOf(type)]));
  try {
    await call(services, () => services.operatorService.addSearchAttributes({ namespace, searchAttributes }));
  } catch (error) {
    // Another worker has just registered it; the list will show it.
    if (isGrpc(error, 'ALREADY_EXISTS')) return;
    throw missingError(namespace, missing, error);
  }
}

async function waitUntilListed(services: SearchAttributeServices, namespace: string, missing: Wanted[]): Promise<void> {
  const deadline = monotonicMs() + visibleWithinMs;
  for (;;) {
    const listed = await list(services, namespace);
    if (listed === 'denied' || missing.every(({ name }) => name in listed)) return;
    if (monotonicMs() > deadline) throw missingError(namespace, missing);
    await sleep(lookAgainMs);
  }
}

/** A visibility query with an unknown name is refused, and counting needs no more rights than showing runs. */
async function checkByQuery(services: SearchAttributeServices, namespace: string): Promise<boolean> {
  const missing: Wanted[] = [];
  for (const one of wanted) {
    try {
      await call(services, () =>
        services.workflowService.countWorkflowExecutions({ namespace, query: `${one.name} IS NULL` }),
      );
    } catch (error) {
      if (isDenial(error)) return false;
      if (!isGrpc(error, 'INVALID_ARGUMENT')) throw toNamespaceError(error);
      missing.push(one);
    }
  }
  if (missing.length > 0) throw missingError(namespace, missing);
  return true;
}

function refuseOtherTypes(listed: Listed, namespace: string): void {
  const typeOf = (name: string): string => typeNames[listed[name] ?? 0] ?? 'unknown type';
  const mistyped = wanted.filter(({ name, type }) => name in listed && typeOf(name) !== type);
  if (mistyped.length === 0) return;
  const found = mistyped.map(({ name, type }) => `${name} of type ${typeOf(name)} instead of ${type}`).join(', ');
  throw new SearchAttributesError(
    'SearchAttributesMistyped',
    `namespace "${namespace}" has search attributes of other types: ${found}; ` +
      'remove them or use another namespace. To remove: ' +
      `temporal operator search-attribute remove --namespace ${namespace} ${nameFlags(mistyped)}`,
  );
}

function missingError(namespace: string, missing: readonly Wanted[], cause?: unknown): SearchAttributesError {
  const create = `temporal operator search-attribute create --namespace ${namespace}`;
  const flags = missing.map(({ name, type }) => `--name ${name} --type ${type}`).join(' ');
  return new SearchAttributesError(
    'SearchAttributesMissing',
    `namespace "${namespace}" lacks search attributes, and adding them failed; run: ${create} ${flags}`,
    { cause },
  );
}

const nameFlags = (mistyped: readonly Wanted[]): string => mistyped.map(({ name }) => `--name ${name}`).join(' ');

function toNamespaceError(error: unknown): unknown {
  if (!isGrpc(error, 'NOT_FOUND')) return error;
  return new SearchAttributesError(
    'NamespaceUnknown',
    'TEMPORAL_NAMESPACE: Temporal knows no such namespace; correct it, or run: temporal operator namespace create --namespace NAME',
    { cause: error },
  );
}

const call = <R>(services: SearchAttributeServices, request: () => Promise<R>): Promise<R> =>
  services.withDeadline(deadlineIn(callTimeoutMs), request);

// Temporal Cloud has no operator service; the code of its answer has changed over time.
const isDenial = (error: unknown): boolean => isGrpc(error, 'PERMISSION_DENIED', 'UNIMPLEMENTED', 'UNAUTHENTICATED');

/** The list filter that wants all of these conditions; one that is not set counts as met. */
export const allOf = (...conditions: readonly (string | undefined)[]): string =>
  conditions.filter((one) => one !== undefined).join(' AND ');

/** The condition for running runs. */
export const isRunning = "ExecutionStatus = 'Running'";

/** The condition for the runs of one account; of all where none is given. */
export const isOfAccount = (account: AccountName | undefined): string | undefined =>
  account && `${names.account} = ${quote(account)}`;

/** What a search attribute of ours says of a run. */
export const attributeOf = (
  { searchAttributes }: Pick<WorkflowExecutionInfo, 'searchAttributes'>,
  name: keyof typeof names,
): string | undefined => searchAttributes[names[name]]?.[0] as string | undefined;

/** The same of one that holds an instant: ISO 8601 in UTC, or null. */
export const instantOf = (
  { typedSearchAttributes }: Pick<WorkflowExecutionInfo, 'typedSearchAttributes'>,
  name: keyof typeof names,
): string | null => typedSearchAttributes.get(defineSearchAttributeKey(names[name], 'DATETIME'))?.toISOString() ?? null;

/** The runs of a task queue that are open and meet these conditions. */
export const openRuns = (taskQueue: string, ...conditions: (string | undefined)[]): string =>
  allOf(`TaskQueue = ${quote(taskQueue)}`, isRunning, ...conditions);

/** The orders that are followed now on a task queue. */
export const followedQuery = (taskQueue: string, ...conditions: (string | undefined)[]): string =>
  openRuns(taskQueue, "WorkflowType = 'followOrder'", ...conditions);

/** Which runs to list. */
export interface RunFilter {
  account?: AccountName | undefined;
  status?: string | undefined;
  running?: boolean | undefined;
}

/** The runs of a type that match, without those that continued as new: the newest run shows the order or ride. */
export const runsQuery = (workflowType: string, { account, status, running }: RunFilter): string =>
  allOf(
    `WorkflowType = ${quote(workflowType)}`,
    running ? isRunning : "ExecutionStatus != 'ContinuedAsNew'",
    isOfAccount(account),
    status && `${names.status} = ${quote(status)}`,
  );

const pageWithinMs = 30_000;
/** A page of the server holds no more. */
const pageSize = 1_000;

/** What `read` makes of these runs, without nulls, page by page: a list of very many takes minutes. */
export async function* listOpen<T>(
  client: Client,
  { taskQueue, condition }: { taskQueue: string; condition: string },
  read: (info: WorkflowExecutionInfo) => T | null,
): AsyncGenerator<T[]> {
  const runs = client.workflow.list({ query: openRuns(taskQueue, condition), pageSize })[Symbol.asyncIterator]();
  const nextRun = () => client.withDeadline(deadlineIn(pageWithinMs), () => runs.next());
  let page: T[] = [];
  let seen = 0;
  for (let next = await nextRun(); !next.done; next = await nextRun()) {
    const one = read(next.value);
    if (one !== null) page.push(one);
    seen += 1;
    if (seen % pageSize > 0) continue;
    yield page;
    page = [];
  }
  yield page;
}

/** What a look at runs needs. */
export interface Looking {
  client: Client;
  config: { taskQueue: string };
  /** Sets the deadline of the calls to Temporal in `act`, which need no worker: they have none of their own. */
  inTime<T>(act: () => Promise<T>): Promise<T>;
}

/** The rows of a list. */
export interface Found<Row> {
  rows: Row[];
  hasMore: boolean;
}

function tellRefusal(error: unknown): never {
  if (!isGrpc(error, 'INVALID_ARGUMENT')) throw error;
  const why = 'the namespace may lack our search attributes, which a worker registers at its start';
  const message = `Temporal refuses the query (${grpcErrorOf(error)?.details}); ${why}`;
  throw new SearchAttributesError('SearchAttributesMissing', message, { cause: error });
}

/** What `read` makes of the first `limit` runs that match, open ones first, in the server's own order: not every server can sort. */
export async function listRuns<Row>(
  { client, inTime }: Looking,
  query: string,
  limit: number,
  read: (info: WorkflowExecutionInfo) => Row[] | Promise<Row[]>,
): Promise<Found<Row>> {
  const runs = client.workflow.list({ query, pageSize: Math.min(limit + 1, pageSize) })[Symbol.asyncIterator]();
  const found: WorkflowExecutionInfo[] = [];
  while (found.length <= limit) {
    const next = await inTime(() => runs.next()).catch(tellRefusal);
    if (next.done) break;
    found.push(next.value);
  }
  return { rows: await readEach(found.slice(0, limit), read), hasMore: found.length > limit };
}

/** Calls `read` for each of `items`, ten at a time, and gives all that they found. */
export const readEach = async <Item, Row>(
  items: readonly Item[],
  read: (item: Item) => Row[] | Promise<Row[]>,
): Promise<Row[]> => (await pMap(items, read, { concurrency: 10 })).flat();

/** How many runs of a task queue are open and meet the condition. */
export async function countOpen(
  client: Client,
  taskQueue: string,
  condition: string,
  withinMs: number,
): Promise<number> {
  const count = () => client.workflow.count(openRuns(taskQueue, condition));
  return (await client.withDeadline(deadlineIn(withinMs), count)).count;
}

const parkedWithinMs = 5_000;

/** Counts the parked deliveries of an account that wait for a person; also those that no worker has handled yet. */
export function countParked(client: Client, taskQueue: string, account: AccountName): Promise<number> {
  const id = quote(parkedDeliveryId({ account, deliveryId: '' }));
  const condition = `WorkflowType = 'parkedDelivery' AND WorkflowId STARTS_WITH ${id}`;
  return countOpen(client, taskQueue, condition, parkedWithinMs);
}

/** How many runs the whole fleet has. */
export interface RunCounts {
  /** Open runs of `followOrder`. */
  followed: number;
  /** Runs of any kind that need a person, by the code of their attention. */
  attention: Record<AttentionCode, number>;
}

const runsWithinMs = 2_000;
/** Visibility takes ten calls a second for a whole namespace. */
const freshMs = 60_000;

/** Counts runs in visibility, at most once a minute. Null when the last count failed. */
export function createRunCounts(
  client: Client,
  taskQueue: string,
  monotonic: MonotonicClock = monotonicMs,
): () => Promise<RunCounts | null> {
  const count = (condition: string) => countOpen(client, taskQueue, condition, runsWithinMs);
  const read = async (): Promise<RunCounts> => {
    const followed = await count("WorkflowType = 'followOrder'");
    // The server groups counts by status alone, so each code needs a call of its own; mostly no run needs attention, or only rides do.
    const all = await count(`${names.attention} IS NOT NULL`);
    const byCode = async (codes: readonly AttentionCode[], left: number) =>
      await Promise.all(
        codes.map(async (code) => [code, left > 0 ? await count(`${names.attention} = '${code}'`) : 0] as const),
      );
    const rides = await byCode(concernCodes, all);
    const others = await byCode(troubleCodes, all - rides.reduce((sum, [, runs]) => sum + runs, 0));
    const attention = Object.fromEntries([...rides, ...others]) as RunCounts['attention'];
    return { followed, attention };
  };
  let latest: Promise<RunCounts | null> = Promise.resolve(null);
  let askedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (monotonic() - askedAt < freshMs) return latest;
    askedAt = monotonic();
    latest = read().catch(() => null);
    return latest;
  };
}
