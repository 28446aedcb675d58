import type { WorkflowExecutionInfo } from '@temporalio/client';
import pMap from 'p-map';
import type { AccountName } from '../domain/keys.js';
import { toRideStatus } from '../domain/order/status.js';
import { searchAttributeNames as names, quote } from '../domain/search-attribute-names.js';
import { grpcErrorOf, isGrpc } from '../temporal/run-errors.js';
import { textThat } from './arguments.js';
import { type Act, inSession, type Looking, type Session } from './command.js';
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
    const text = [rowsText(columns, rows), ...(below.length > 0 ? ['', ...below] : [])].join('\n');
    session.tell({ [name]: rows, hasMore }, rows.length === 0 ? empty : text);
    if (hasMore) session.note(`There are more than ${rows.length}; narrow the list.`);
    return exitCodes.done;
  });

function tellRefusal(error: unknown): never {
  if (!isGrpc(error, 'INVALID_ARGUMENT')) throw error;
  const why = 'the namespace may lack our search attributes, which a worker registers at its start';
  const message = `Temporal refuses the query (${grpcErrorOf(error)?.details}); ${why}`;
  throw new CliFailure('SearchAttributesMissing', message, { cause: error });
}

/** A page of the server holds no more. */
const mostInPage = 1_000;

/** What `read` makes of the first `limit` runs that match, open ones first, in the server's own order: not every server can sort. */
export async function listRuns<Row>(
  { client, inTime }: Looking,
  query: string,
  limit: number,
  read: (info: WorkflowExecutionInfo) => Row[] | Promise<Row[]>,
): Promise<Found<Row>> {
  const runs = client.workflow.list({ query, pageSize: Math.min(limit + 1, mostInPage) })[Symbol.asyncIterator]();
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

/** Which runs to list. */
export interface RunFilter {
  account?: AccountName | undefined;
  status?: string | undefined;
  running?: boolean | undefined;
}

const isSearchable = (text: string): boolean => /^[^"\\\p{C}]{1,200}$/u.test(text);
const searchRule = '1 to 200 characters without control characters, a backslash or a ", which no server over SQL finds';

/** Reads a status to search for: any word, since the service may send new ones. Throws `InvalidInput`, also for what a server over SQL never
 *  finds however it is escaped (measured on 1.31). */
export const toStatusFilter = (text: string, field: string): string =>
  toRideStatus(textThat(isSearchable, searchRule)(text, field));

/** The list filter that wants all of these conditions; one that is not set counts as met. */
export const allOf = (...conditions: readonly (string | undefined)[]): string =>
  conditions.filter((one) => one !== undefined).join(' AND ');

/** The condition for running runs. */
export const isRunning = "ExecutionStatus = 'Running'";

/** The condition for the runs of one account; of all where none is given. */
export const isOfAccount = (account: AccountName | undefined): string | undefined =>
  account && `${names.account} = ${quote(account)}`;

/** The runs of a type that match, without those that continued as new: the newest run shows the order or ride. */
export const runsQuery = (workflowType: string, { account, status, running }: RunFilter): string =>
  allOf(
    `WorkflowType = ${quote(workflowType)}`,
    running ? isRunning : "ExecutionStatus != 'ContinuedAsNew'",
    isOfAccount(account),
    status && `${names.status} = ${quote(status)}`,
  );

/** The orders that are followed now on a task queue. */
export const followedQuery = (taskQueue: string, ...conditions: (string | undefined)[]): string =>
  allOf("WorkflowType = 'followOrder'", isRunning, `TaskQueue = ${quote(taskQueue)}`, ...conditions);
