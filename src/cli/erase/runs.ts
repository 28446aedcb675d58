import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { ownValue } from '../../contracts/json.js';
import { InvalidInput } from '../../domain/errors.js';
import { publishedDelivery } from '../../domain/published.js';
import { searchAttributeNames as names, quote } from '../../domain/search-attribute-names.js';
import {
  changeRideId,
  companyReportId,
  type FollowOrderKey,
  followOrderId,
  fromRequestRideId,
  noticesId,
  requestRideId,
} from '../../domain/workflow-ids.js';
import { isGrpc } from '../../temporal/run-errors.js';
import { decodeAll, type RunTimes, runOf, toRunTimes } from '../../temporal/runs.js';
import { callTimeoutMs, type Session } from '../command.js';
import { readEach } from '../lists.js';

/** The workflow types whose runs may be about one order, in the order in which they are removed. A ride follows its order again, so it goes
 *  before the order. */
const kinds = {
  requestRide: 'ride',
  changeRide: 'change of a ride',
  businessCall: 'call',
  followOrder: 'order',
  companyReport: 'report',
  parkedDelivery: 'parked delivery',
  notices: 'notices',
} as const;
type Kind = (typeof kinds)[keyof typeof kinds];

/** One run that is about an order. */
export interface RunAbout extends Pick<RunTimes, 'state' | 'isOpen'> {
  kind: Kind;
  workflowId: string;
  runId: string;
}

const kindOf = (type: string): Kind | undefined =>
  Object.hasOwn(kinds, type) ? kinds[type as keyof typeof kinds] : undefined;

/** Finds all runs about an order: those whose id names it, and of the other runs of the account those whose input or result does. It
 *  needs no worker. */
export async function findRunsAbout(session: Session, key: FollowOrderKey): Promise<RunAbout[]> {
  const ids = [followOrderId(key), companyReportId({ account: key.account, about: key.orderId })];
  if (/["\\]/.test(key.orderId)) {
    throw new InvalidInput(
      'orderId: Temporal cannot search for an id with a backslash or a "; delete its runs by hand',
    );
  }
  const named = await listById(session, ids, ids.map(noticesPrefix));
  const types = "WorkflowType IN ('requestRide', 'businessCall', 'parkedDelivery')";
  const others = await listAll(session, `${types} AND ${names.account} = ${quote(key.account)}`);
  const about = await readEach(others, async (info) =>
    (await orderIdsOf(session, info)).includes(key.orderId) ? [info.workflowId] : [],
  );
  const rides = about.flatMap((id) => fromRequestRideId(id) ?? []);
  const prefixes = rides.flatMap((ride) => [
    changeRideId({ ...ride, changeId: '' }),
    noticesPrefix(requestRideId(ride)),
  ]);
  const ofRides = prefixes.length > 0 ? await listById(session, [], prefixes) : [];
  // A run that continued as new may not have known the order yet.
  const found = [...named, ...others.filter(({ workflowId }) => about.includes(workflowId)), ...ofRides];
  return inOrder(found.flatMap(toRunAbout));
}

const noticesPrefix = (about: string): string => noticesId({ about, firstRunId: '', receiver: '' }).slice(0, -1);

const toRunAbout = (info: WorkflowExecutionInfo): RunAbout[] => {
  const kind = kindOf(info.type);
  const { state, isOpen } = toRunTimes(info);
  return kind ? [{ kind, workflowId: info.workflowId, runId: info.runId, state, isOpen }] : [];
};

const order: Kind[] = Object.values(kinds);
const inOrder = (runs: RunAbout[]): RunAbout[] => runs.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));

/** Servers differ in what they take for equal and for a wildcard. */
async function listById(session: Session, ids: readonly string[], prefixes: readonly string[]) {
  const conditions = [
    ...ids.map((id) => `WorkflowId = ${quote(id)}`),
    ...prefixes.map((prefix) => `WorkflowId STARTS_WITH ${quote(prefix)}`),
  ];
  const isMeant = (id: string): boolean => ids.includes(id) || prefixes.some((prefix) => id.startsWith(prefix));
  return (await listAll(session, conditions.join(' OR '))).filter(({ workflowId }) => isMeant(workflowId));
}

async function listAll({ client }: Session, query: string): Promise<WorkflowExecutionInfo[]> {
  const found: WorkflowExecutionInfo[] = [];
  for await (const info of client.workflow.list({ query })) found.push(info);
  return found;
}

/** The orders that a run names. */
async function orderIdsOf(session: Session, info: WorkflowExecutionInfo): Promise<unknown[]> {
  switch (kindOf(info.type)) {
    case 'parked delivery': {
      const delivery = publishedDelivery(info.memo);
      return [delivery?.aboutOrderId, delivery?.orderId];
    }
    case 'call':
      return (await writtenBy(session, info)).map((one) => asText(ownValue(one, 'orderId')));
    case 'ride':
      return (await writtenBy(session, info)).flatMap((one) => [
        ownValue(ownValue(one, 'input'), 'orderId'),
        ownValue(ownValue(ownValue(one, 'carried'), 'standing'), 'orderId'),
      ]);
    default:
      return [];
  }
}

/** A caller may give an order id as a number. */
const asText = (id: unknown): unknown => (typeof id === 'number' ? String(id) : id);

/** What a workflow was started with, its result, and what it gave to the activities that follow an order. */
async function writtenBy({ client }: Session, { workflowId, runId }: WorkflowExecutionInfo): Promise<unknown[]> {
  const run = runOf(client, workflowId, runId);
  const events = await run.events({ withinMs: callTimeoutMs }).catch((error: unknown) => {
    if (isGrpc(error, 'NOT_FOUND')) return []; // removed, and still in the list
    throw error;
  });
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
export async function removeRuns({ client, within }: Session, runs: readonly RunAbout[]): Promise<RunAbout[]> {
  const { namespace } = client.options;
  for (const { workflowId, runId } of runs) {
    const run = { namespace, workflowExecution: { workflowId, runId } };
    await within(callTimeoutMs, () => client.workflowService.deleteWorkflowExecution(run)).catch((error) => {
      if (!isGrpc(error, 'NOT_FOUND')) throw error;
    });
  }
  const until = Date.now() + removedWithinMs;
  const isThere = async ({ workflowId, runId }: RunAbout): Promise<boolean> =>
    (await runOf(client, workflowId, runId).find({ withinMs: callTimeoutMs })) !== undefined;
  let left = [...runs];
  while (left.length > 0 && Date.now() < until) {
    left = await readEach(left, async (run) => ((await isThere(run)) ? [run] : []));
    if (left.length > 0) await sleep(pauseMs);
  }
  return left;
}
