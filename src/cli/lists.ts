import type { WorkflowExecutionInfo } from '@temporalio/client';
import { InvalidInput } from '../domain/errors.js';
import type { AccountName } from '../domain/keys.js';
import { toRideStatus } from '../domain/order/status.js';
import { searchAttributeNames as names, quote } from '../domain/search-attribute-names.js';
import { grpcErrorOf, isGrpc } from '../temporal/run-errors.js';
import { type Act, callTimeoutMs, inSession, type Session } from './command.js';
import { CliFailure, exitCodes } from './failure.js';
import { type Columns, rowsText } from './text.js';

/** A command that lists something: JSON with the rows under `name`, or a table. */
interface Listing<Given, Row> {
  name: string;
  /** The text where there is no row. */
  empty: string;
  find(session: Session, given: Given): Promise<Found<Row>>;
  columns: Columns<Row>;
  /** Lines below the table. */
  notes?(rows: readonly Row[]): string[];
}

/** The rows of a list. */
export interface Found<Row> {
  rows: Row[];
  hasMore: boolean;
}

/** The one way to list. */
export const listing = <Given, Row>({ name, empty, columns, notes, find }: Listing<Given, Row>): Act<Given> =>
  inSession(async (session, given) => {
    const { rows, hasMore } = await find(session, given);
    const below = notes?.(rows) ?? [];
    const text = [rowsText(columns, rows, session.paint), ...(below.length > 0 ? ['', ...below] : [])].join('\n');
    session.tell({ [name]: rows, hasMore }, rows.length === 0 ? empty : text);
    if (hasMore) session.note(`There are more than ${rows.length}; narrow the list.`);
    return exitCodes.done;
  });

/** All runs that match, page by page as the caller goes on, open ones first. */
async function* eachRun({ client, within }: Session, query: string, pageSize: number) {
  const runs = client.workflow.list({ query, pageSize })[Symbol.asyncIterator]();
  for (;;) {
    const next = await within(callTimeoutMs, () => runs.next()).catch(tellRefusal);
    if (next.done) return;
    yield next.value;
  }
}

function tellRefusal(error: unknown): never {
  if (!isGrpc(error, 'INVALID_ARGUMENT')) throw error;
  throw new CliFailure(
    'SearchAttributesMissing',
    `Temporal refuses the query (${grpcErrorOf(error)?.details}); the namespace may lack our search attributes, which a worker registers at its start`,
    { cause: error },
  );
}

/** What `read` makes of the first `limit` runs that match, open ones first, in the server's own order: not every server can sort. */
export async function listRuns<Row>(
  session: Session,
  { query, limit }: { query: string; limit: number },
  read: (info: WorkflowExecutionInfo) => Row[] | Promise<Row[]>,
): Promise<Found<Row>> {
  const found: WorkflowExecutionInfo[] = [];
  for await (const info of eachRun(session, query, limit + 1)) {
    found.push(info);
    if (found.length > limit) break;
  }
  return { rows: await readEach(found.slice(0, limit), read), hasMore: found.length > limit };
}

/** Calls `read` for each of `items`, ten at a time, and gives all that they found. */
export async function readEach<Item, Row>(
  items: readonly Item[],
  read: (item: Item) => Row[] | Promise<Row[]>,
): Promise<Row[]> {
  const found: Row[] = [];
  for (let from = 0; from < items.length; from += 10) {
    found.push(...(await Promise.all(items.slice(from, from + 10).map(read))).flat());
  }
  return found;
}

/** Which runs to list. */
export interface RunFilter {
  account?: AccountName | undefined;
  status?: string | undefined;
  running?: boolean | undefined;
}

/**
 * Reads a status to search for: any word, since the service may send new ones. Throws `InvalidInput`, also for what a server
 * over SQL never finds however it is escaped (measured on 1.31).
 */
export function toStatusFilter(text: string): string {
  if (/["\\]/.test(text)) throw new InvalidInput('--status: Temporal cannot search for words with a backslash or a "');
  if (text === '' || text.length > 200 || /\p{C}/u.test(text)) {
    throw new InvalidInput('--status: must be 1 to 200 characters without control characters');
  }
  return toRideStatus(text);
}

/** The runs of a type that match, without those that continued as new: the newest run shows the order or ride. */
export const newestRunsQuery = (
  workflowType: 'followOrder' | 'requestRide',
  { running, ...filter }: RunFilter,
): string =>
  allOf(`WorkflowType = ${quote(workflowType)}`, running ? isRunning : "ExecutionStatus != 'ContinuedAsNew'", filter);

/** The running runs of every type that need a person. A parked delivery always does. */
export const attentionQuery = (account: AccountName | undefined): string =>
  allOf(isRunning, `(${names.attention} IS NOT NULL OR WorkflowType = 'parkedDelivery')`, { account });

/** The orders that are followed now on a task queue, but for those of these accounts. */
export const otherAccountsQuery = (
  seen: readonly string[],
  { account, taskQueue }: { account?: AccountName | undefined; taskQueue: string },
): string => {
  const others = seen.length === 0 ? `${names.account} IS NOT NULL` : `${names.account} NOT IN (${seen.map(quote)})`;
  return allOf(`WorkflowType = 'followOrder' AND ${isRunning} AND TaskQueue = ${quote(taskQueue)}`, others, {
    account,
  });
};

const isRunning = "ExecutionStatus = 'Running'";

const allOf = (first: string, second: string, { account, status }: Omit<RunFilter, 'running'>): string =>
  [
    first,
    second,
    ...(account === undefined ? [] : [`${names.account} = ${quote(account)}`]),
    ...(status === undefined ? [] : [`${names.status} = ${quote(status)}`]),
  ].join(' AND ');

/** The running runs of one type. */
export const runningQuery = (
  workflowType: 'subscription' | 'parkedDelivery',
  account: AccountName | undefined,
): string => allOf(`WorkflowType = ${quote(workflowType)}`, isRunning, { account });
