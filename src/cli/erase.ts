import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { monotonicMs } from '../clock.js';
import { valueAt } from '../contracts/json.js';
import { InvalidInput } from '../domain/errors.js';
import { isSameId, type OrderId, spellingsOf } from '../domain/keys.js';
import { publishedDelivery } from '../domain/published.js';
import { searchAttributeNames as names, quote } from '../domain/search-attribute-names.js';
import {
  changeRideId,
  companyReportId,
  type FollowOrderKey,
  followOrderId,
  fromRequestRideId,
  noticesId,
  requestRideId,
} from '../domain/workflow-ids.js';
import type { Store } from '../store/store.js';
import { isGrpc } from '../temporal/run-errors.js';
import { decodeAll, type RunTimes, runOf, toRunTimes } from '../temporal/runs.js';
import { listRuns, readEach } from '../temporal/visibility.js';
import { option } from './arguments.js';
import { type CommandSpec, callTimeoutMs, inSession, type Session } from './command.js';
import { CliFailure, exitCodes } from './failure.js';
import { type Columns, plain } from './text.js';

const help = `
Removes from Temporal the runs of the order and of its report, the rides and
calls that name it, its parked deliveries, and its notices. It cannot be
undone: the order may be followed anew, and a ride or a call whose run is gone
may be ordered again under the same id. It asks before it removes anything. It
reads all rides and calls of the account that Temporal keeps. Its list is about
a second behind the runs: repeat the command until it ends with 3.`;

interface Given extends FollowOrderKey {
  running?: boolean;
  yes?: boolean;
}

/** `erase <account> <orderId>`: removes what is kept about an order, in the store too. */
export const eraseCommand: CommandSpec = {
  form: 'erase <account> <orderId>',
  does: 'remove what Temporal keeps about an order and its persons',
  examples: ['business 7b21'],
  more: help,
  options: [
    option('--running', 'also if the order, its ride or a call still runs: ends them'),
    option('--yes', 'do not ask'),
  ],
  act: inSession(erase),
};

async function erase(session: Session, { account, orderId, running = false, yes = false }: Given): Promise<number> {
  const key = { account, orderId };
  const runs = await findRunsAbout(session, key);
  const inStore = await withStore(session, (store) => store.countRows(key));
  if (runs.length === 0 && !inStore) {
    const where = inStore === null ? 'Temporal keeps no run' : 'Temporal keeps no run, and the store no row,';
    throw new CliFailure('NothingKept', `${where} about order ${orderId} of account ${account}`);
  }
  const open = runs.filter(({ kind, isOpen }) => isOpen && ['order', 'ride', 'call'].includes(kind));
  if (open.length > 0 && !running) {
    const ids = open.map(({ workflowId }) => workflowId).join(', ');
    const remedy =
      'stop following or wait for the end, or add --running, which ends these runs and not the ride itself';
    throw new CliFailure('StillRunning', `nothing was removed: ${ids} still runs; ${remedy}`);
  }
  if (!yes) await ask(session, runs, inStore);
  if (runs.length > 0) session.note('Temporal removes them within a minute or two.');
  const left = await removeRuns(session, runs);
  const erased = runs.filter((run) => !left.includes(run));
  // After the runs, which may have recorded more until now.
  const storedRows = await withStore(session, (store) => store.erase(key));
  const store = storedRows === null ? {} : { storedRows };
  session.tell({ ...key, erased, left, ...store, stays }, erasedText({ erased, left, ...store }, session));
  return left.length > 0 ? exitCodes.failed : exitCodes.done;
}

/** Null where the settings name no store. */
async function withStore<T>({ config }: Session, act: (store: Store) => Promise<T>): Promise<T | null> {
  if (typeof config.store !== 'object') return null;
  const { openStore } = await import('../store/store.js'); // most commands need none
  const store = openStore(config.store.url);
  try {
    const away = await store.trouble();
    if (away !== null) throw new InvalidInput(away);
    return await act(store);
  } finally {
    await store.close();
  }
}

async function ask(session: Session, runs: readonly RunAbout[], inStore: number | null): Promise<void> {
  if (!session.question || session.isJson) {
    throw new InvalidInput('--yes: needed without a terminal, and with --json; nothing was removed');
  }
  session.note([session.table(runColumns, runs), '', ...warningsOf(runs)].join('\n'));
  const rows = inStore ? ` and ${inStore} rows of the store` : '';
  const answer = await session.question(`Remove these ${runs.length} runs${rows} for good? [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CliFailure('NotConfirmed', 'nothing was removed');
}

/** What the caller has to know before. */
function warningsOf(runs: readonly RunAbout[]): string[] {
  const isOnce = ({ kind }: RunAbout): boolean => kind === 'ride' || kind === 'call';
  const ids = [...new Set(runs.filter(isOnce).map(({ workflowId }) => plain(workflowId)))];
  if (ids.length === 0) return [];
  const rides = ids.some((id) => fromRequestRideId(id)) ? 'A ride requested again is a second ride. ' : '';
  return [`"Never twice" ends for ${ids.join(', ')}: the same id orders or calls again. ${rides}Do not repeat them.`];
}

const stays = [
  'Archives and backups of the database keep the runs for as long as you have set there.',
  'Receivers of notices, callers and logs keep what they have.',
  'A delivery that an ingress still has to forward, or that the service sends later, has the order followed anew.',
];

type Removed = Record<'erased' | 'left', readonly RunAbout[]> & { storedRows?: number };

function erasedText({ erased, left, storedRows }: Removed, { table }: Session): string {
  const inStore = storedRows === undefined ? '' : ` Removed ${storedRows} rows of the store.`;
  return [
    `Removed ${erased.length} runs.${inStore}`,
    ...(erased.length > 0 ? [table(runColumns, erased)] : []),
    ...(left.length > 0 ? ['Temporal has not removed these yet; repeat the command:', table(runColumns, left)] : []),
    'What stays:',
    ...stays.map((line) => `- ${line}`),
  ].join('\n');
}

const runColumns: Columns<RunAbout> = { what: 'kind', run: 'workflowId', state: 'state' };

/** The workflow types whose runs may be about one order, in the order in which they are removed. A ride follows its order again, so it goes
 *  before the order. */
const kinds: ReadonlyMap<string, string> = new Map([
  ['requestRide', 'ride'],
  ['changeRide', 'change of a ride'],
  ['businessCall', 'call'],
  ['followOrder', 'order'],
  ['companyReport', 'report'],
  ['parkedDelivery', 'parked delivery'],
  ['notices', 'notices'],
]);

/** One run that is about an order. */
interface RunAbout extends Pick<RunTimes, 'state' | 'isOpen'> {
  kind: string;
  workflowId: string;
  runId: string;
}

/** Finds all runs about an order: those whose id names it, and of the other runs of the account those whose input or result does. It
 *  needs no worker. */
async function findRunsAbout(session: Session, key: FollowOrderKey): Promise<RunAbout[]> {
  const ids = spellingsOf(key.orderId).flatMap((spelling) => {
    const orderId = spelling as OrderId;
    return [followOrderId({ ...key, orderId }), companyReportId({ account: key.account, about: orderId })];
  });
  if (/["\\]/.test(key.orderId))
    throw new InvalidInput('orderId: Temporal cannot search for an id with \\ or "; delete its runs by hand');
  const named = await listById(session, ids, ids.map(noticesPrefix));
  const types = "WorkflowType IN ('requestRide', 'businessCall', 'parkedDelivery')";
  const others = await listAll(session, `${types} AND ${names.account} = ${quote(key.account)}`);
  const about = await readEach(others, async (info) =>
    (await orderIdsOf(session, info)).some((id) => isSameId(String(id), key.orderId)) ? [info.workflowId] : [],
  );
  const rides = about.flatMap((id) => fromRequestRideId(id) ?? []);
  const prefixes = rides.flatMap((ride) => [
    changeRideId({ ...ride, changeId: '' }),
    noticesPrefix(requestRideId(ride)),
  ]);
  const ofRides = prefixes.length > 0 ? await listById(session, [], prefixes) : [];
  // A run that continued as new may not have known the order yet.
  const found = [...named, ...others.filter(({ workflowId }) => about.includes(workflowId)), ...ofRides];
  const order = [...kinds.values()];
  return found.flatMap(toRunAbout).sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

const noticesPrefix = (about: string): string => noticesId({ about, firstRunId: '', receiver: '' }).slice(0, -1);

const toRunAbout = (info: WorkflowExecutionInfo): RunAbout[] => {
  const kind = kinds.get(info.type);
  const { state, isOpen } = toRunTimes(info);
  return kind ? [{ kind, workflowId: info.workflowId, runId: info.runId, state, isOpen }] : [];
};

/** Servers differ in what they take for equal and for a wildcard. */
async function listById(session: Session, ids: readonly string[], prefixes: readonly string[]) {
  const conditions = [
    ...ids.map((id) => `WorkflowId = ${quote(id)}`),
    ...prefixes.map((prefix) => `WorkflowId STARTS_WITH ${quote(prefix)}`),
  ];
  const isMeant = (id: string): boolean => ids.includes(id) || prefixes.some((prefix) => id.startsWith(prefix));
  return (await listAll(session, conditions.join(' OR '))).filter(({ workflowId }) => isMeant(workflowId));
}

const listAll = async (session: Session, query: string): Promise<WorkflowExecutionInfo[]> =>
  (await listRuns(session, query, Number.POSITIVE_INFINITY, (info) => [info])).rows;

/** Where the input, the result and what a run carries over name its order. */
const orderPlaces = ['/orderId', '/input/orderId', '/carried/standing/orderId'];

/** The orders that a run names. */
async function orderIdsOf(session: Session, info: WorkflowExecutionInfo): Promise<unknown[]> {
  if (info.type === 'parkedDelivery') {
    const delivery = publishedDelivery(info.memo);
    return [delivery?.aboutOrderId, delivery?.orderId];
  }
  const written = await writtenBy(session, info);
  const ids = written.flatMap((one) => orderPlaces.map((place) => valueAt(one, place)));
  return ids.map((id) => (typeof id === 'number' ? String(id) : id)); // a caller may give an order id as a number
}

/** What a workflow was started with, its result, and what it gave to the activities that follow an order. */
async function writtenBy({ client }: Session, { workflowId, runId }: WorkflowExecutionInfo): Promise<unknown[]> {
  const run = runOf(client, workflowId, runId);
  const events = (await run.events({ withinMs: callTimeoutMs })) ?? []; // removed, and still in the list
  const payloads = events.flatMap((event) => {
    const { workflowExecutionStartedEventAttributes: start, workflowExecutionCompletedEventAttributes: end } = event;
    const { activityTaskScheduledEventAttributes: activity } = event;
    const follows = activity?.activityType?.name === 'startFollowing' ? activity.input : undefined;
    return [start?.input, end?.result, follows].flatMap((written) => written?.payloads ?? []);
  });
  return await decodeAll(client, payloads);
}

/** The server removes a run that has just ended only after its next checkpoint, up to a minute later (measured on 1.31). */
const removedWithinMs = 120_000;
const pauseMs = 500;

/** Deletes runs, open ones too, and waits until Temporal knows them no more. Gives those that are still there. */
async function removeRuns({ client, inTime }: Session, runs: readonly RunAbout[]): Promise<RunAbout[]> {
  const { namespace } = client.options;
  for (const { workflowId, runId } of runs) {
    const run = { namespace, workflowExecution: { workflowId, runId } };
    await inTime(() => client.workflowService.deleteWorkflowExecution(run)).catch((error) => {
      if (!isGrpc(error, 'NOT_FOUND')) throw error;
    });
  }
  const until = monotonicMs() + removedWithinMs;
  const isThere = async ({ workflowId, runId }: RunAbout): Promise<boolean> =>
    (await runOf(client, workflowId, runId).find({ withinMs: callTimeoutMs })) !== undefined;
  let left = [...runs];
  while (left.length > 0 && monotonicMs() < until) {
    left = await readEach(left, async (run) => ((await isThere(run)) ? [run] : []));
    if (left.length > 0) await sleep(pauseMs);
  }
  return left;
}
