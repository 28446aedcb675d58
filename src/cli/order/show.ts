import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { OrderTrail } from '../../client/index.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { type Decision, readDecisions } from '../../temporal/decisions.js';
import { failureBehind } from '../../temporal/run-errors.js';
import type { FoundRun } from '../../temporal/runs.js';
import { rideAttentionKey, rideSeenByKey, rideStatusKey } from '../../workflows/search-attributes.js';
import { type AddCommand, addCommand, callTimeoutMs, inSession, queryTimeoutMs, type Session } from '../command.js';
import { CliFailure, exitCodes, type RunFailure, toRunFailure } from '../failure.js';
import { type Paint, type Pair, pairsText, plain, utc, withoutColour } from '../text.js';

/** The run of an order with its trail. Open: `trail` is null when no worker answered. Ended: null when the run failed. */
interface OrderRun {
  found: FoundRun;
  trail: OrderTrail | null;
  failure: RunFailure | null;
}

/** What the search attributes say of an order; null where the run has not set them. */
export const knownOf = ({ typedSearchAttributes }: Pick<WorkflowExecutionInfo, 'typedSearchAttributes'>) => ({
  status: typedSearchAttributes.get(rideStatusKey) ?? null,
  seenBy: typedSearchAttributes.get(rideSeenByKey) ?? null,
  attention: typedSearchAttributes.get(rideAttentionKey) ?? null,
});

/** The newest run of an order, open or ended. Throws `CliFailure` NotFollowed. */
export async function getOrderRun(session: Session, { account, orderId }: FollowOrderKey): Promise<FoundRun> {
  const found = await session.find(followOrderId({ account, orderId }));
  if (found) return found;
  throw new CliFailure(
    'NotFollowed',
    `order ${orderId} of account ${account} is not followed, and Temporal remembers no run of it; follow it with: faretrail order follow ${account} ${orderId}`,
  );
}

/** The newest run of an order with its trail, which an open run answers a query with and an ended one has as its result. */
export async function readOrderRun(session: Session, key: FollowOrderKey): Promise<OrderRun> {
  return await readTrail(session, key, await getOrderRun(session, key));
}

/** The same for a run that has been found. */
export async function readTrail(
  { rides, within }: Session,
  { account, orderId }: FollowOrderKey,
  found: FoundRun,
): Promise<OrderRun> {
  const order = rides.get(account, orderId);
  if (found.isOpen) {
    // Whatever goes wrong here, the rest is still worth showing; so a missing worker is no error.
    const trail = await order.trail({ withinMs: queryTimeoutMs }).catch(() => null);
    return { found, trail, failure: null };
  }
  try {
    return { found, trail: await within(callTimeoutMs, () => order.result()), failure: null };
  } catch (error) {
    const failure = failureBehind(error);
    if (!failure) throw error;
    return { found, trail: null, failure: toRunFailure(failure) };
  }
}

/** One observation that changed something. */
export type TimelineEntry = OrderTrail['timeline'][number];
type Attention = NonNullable<OrderTrail['attention']>;

const statusWidth = 12;

/** One line of a timeline: when the run saw it (UTC), the status, and whether a read or a delivery showed it. Safe for a terminal. */
export function timelineLine({ at, status, rawStatus, source }: TimelineEntry, paint: Paint = withoutColour): string {
  const came = rawStatus === status ? '' : ` (came as ${plain(rawStatus)})`;
  return `${paint('faint', utc(at))}  ${paint('strong', plain(status).padEnd(statusWidth))}  ${source}${came}`;
}

/** Why the run needs a person, or that it no longer does. */
export const attentionLine = (attention: Attention | null, paint: Paint = withoutColour): string =>
  attention === null
    ? paint('good', 'attention cleared')
    : `${paint('bad', 'attention:')} ${attentionText(attention, paint)}`;

/** Why a run needs a person, and since when. */
export const attentionText = ({ code, message, since }: Attention, paint: Paint): string =>
  `${paint('bad', code)} since ${utc(since)} UTC: ${plain(message)}`;

/** The whole trail for a terminal of 100 columns; times in UTC. Safe whatever words the service used. */
export function trailText(trail: OrderTrail, paint: Paint = withoutColour): string {
  const head = paint('strong', `Order ${plain(trail.orderId)} of account ${trail.account}`);
  const timeline = trail.timeline.map((entry) => timelineLine(entry, paint));
  const none = paint('faint', 'nothing read yet');
  return [head, pairsText(facts(trail, paint), paint), '', ...(timeline.length > 0 ? timeline : [none])].join('\n');
}

function facts(trail: OrderTrail, paint: Paint): Pair[] {
  const { attention, deliveries, outcome, reads, reference, status } = trail;
  const since = `since ${utc(trail.since)} UTC`;
  return [
    ['status', status === null ? `not read yet, followed ${since}` : `${paint('strong', plain(status))} ${since}`],
    ['outcome', outcome === null ? 'still open' : paint(outcome === 'completed' ? 'good' : 'strong', outcome)],
    ['reference', reference === undefined ? undefined : plain(reference)],
    ['attention', attention === null ? 'none' : attentionText(attention, paint)],
    ['seen by', `${count(reads, 'read')}, ${deliveriesText(deliveries)}`],
    ...detailPairs(trail.details ?? {}),
  ];
}

function deliveriesText({ received, duplicate }: OrderTrail['deliveries']): string {
  if (received === 0) return 'no delivery';
  return `${received === 1 ? '1 delivery' : `${received} deliveries`} (${duplicate} duplicate)`;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** "vehicle model", "scheduled at": the fields of `details`, nested ones too. */
function detailPairs(details: Record<string, unknown>, prefix = ''): Pair[] {
  return Object.entries(details).flatMap(([name, value]): Pair[] => {
    const label = plain(`${prefix}${name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()}`);
    if (typeof value === 'object' && value !== null) {
      return detailPairs(value as Record<string, unknown>, `${label} `);
    }
    return [[label, detailText(String(value))]];
  });
}

const detailText = (text: string): string =>
  /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/.test(text) ? `${utc(text)} UTC` : plain(text);

/** `order show <account> <orderId>`: the trail of an order, open or ended. */
export const addShow: AddCommand = (order, run) => {
  const does = 'show the trail of an order; needs no worker';
  addCommand(order, 'show <account> <orderId>', { does, examples: ['partner 42'] }).action(run(inSession(show)));
};

async function show(session: Session, key: FollowOrderKey): Promise<number> {
  const shown = await readOrderRun(session, key);
  const decisions = await decisionsOf(session, shown.found.workflowId);
  session.tell(
    { ...toRunJson(shown), decisions },
    `${runText(shown, key, session.paint)}${decisionsText(decisions, session.paint)}`,
  );
  return exitCodes.done;
}

/** Who decided what about a run; null where its history cannot be read. */
export const decisionsOf = ({ client }: Session, workflowId: string): Promise<Decision[] | null> =>
  readDecisions(client, workflowId, callTimeoutMs).catch(() => null);

/** A line for each decision. */
export function decisionsText(decisions: readonly Decision[] | null, paint: Paint): string {
  const lines = (decisions ?? []).map(({ at, what, by, principal }) => {
    const proved = principal === null ? '' : ` (proved: ${plain(principal)})`;
    return paint('faint', `${utc(at)}  ${plain(what)} by ${plain(by)}${proved}`);
  });
  return ['', ...lines].join('\n');
}

/** The JSON of a run. */
export function toRunJson({ found, trail, failure }: OrderRun) {
  const { workflowId, state, startedAt, endedAt } = found;
  return { workflowId, state, startedAt, endedAt, known: knownOf(found), trail, failure };
}

/** The trail; without one what Temporal itself knows, and why there is no trail. */
export function runText(run: OrderRun, key: FollowOrderKey, paint: Paint): string {
  if (run.trail) return `${trailText(run.trail, paint)}\n\n${paint('faint', runLine(run.found))}`;
  const { status, seenBy, attention } = knownOf(run.found);
  const pairs: Pair[] = [
    ['status', status === null ? 'not read yet' : `${paint('strong', plain(status))} (seen by a ${seenBy ?? 'read'})`],
    ['attention', attention === null ? 'none' : paint('bad', plain(attention))],
    ['run', runLine(run.found)],
  ];
  const head = paint('strong', `Order ${plain(key.orderId)} of account ${key.account}`);
  return [head, pairsText(pairs, paint), '', paint('bad', whyNoTrail(run))].join('\n');
}

function whyNoTrail({ failure, found }: OrderRun): string {
  if (failure) return `${failure.code}: ${plain(failure.message)}`;
  return found.isOpen
    ? 'No worker answered, so this is what Temporal itself knows. To see the timeline, start a worker: npm run worker'
    : 'The run left no trail.';
}

/** "running since ...", "completed at ...". */
export function runLine({ state, isOpen, startedAt, endedAt, workflowId }: FoundRun): string {
  const when = isOpen ? `since ${utc(startedAt)} UTC` : `at ${utc(endedAt)} UTC`;
  return `${plain(workflowId)}: ${state} ${when}`;
}
