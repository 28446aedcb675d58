import type { OrderTrail } from '../../../src/client/index.js';
import { type BusinessOperation, isChanging } from '../../../src/domain/call.js';
import { toAccountName } from '../../../src/domain/keys.js';
import { rideCallId } from '../../../src/domain/ride/ride.js';
import { businessCallId } from '../../../src/domain/workflow-ids.js';
import { median } from '../../bench/statistics.js';
import type { SandboxControl } from '../../sandbox/control/client.js';
import { changeOf } from './ride-bodies.js';
import type { Verdict } from './verdict.js';
import type { WorkDone } from './work.js';

/** What an order went through at the sandbox. */
export type Course = Awaited<ReturnType<SandboxControl['orderCourse']>>;
type At = Parameters<SandboxControl['orderCourse']>[0];

const account = toAccountName('business');
const outcomes: Record<string, string> = { Completed: 'completed', Cancelled: 'cancelled', Rejected: 'rejected' };

/** Does each order end as in the sandbox, and did each request take effect once? */
export async function judgeWork(sandbox: SandboxControl, done: WorkDone): Promise<Verdict> {
  const orders = await judgeOrders(sandbox, done);
  const rides = await judgeRides(sandbox, done);
  const calls = await judgeCalls(sandbox, done);
  const businessCalls = done.calls.length;
  const callsGivenUp = done.calls.filter(isGivenUp).length;
  const figures = { ...orders.figures, ridesRequested: done.rides.length, businessCalls, callsGivenUp };
  const open = [...done.open].map((work) => `${work} has no end`);
  return {
    problems: [...orders.problems, ...rides, ...calls, ...judgeGivenUp(done), ...open, ...judgeAnswers(done)],
    figures,
  };
}

/** The answers that a run may give. `NotFound`: no run follows the order yet. */
const rightAnswers = ['done', 'AlreadyEnded', 'NotFound', 'Refused', 'OutcomeUnknown'];
/** A person retries after a lost answer. A refresh that meets a fault of the service is answered with `NotRead`. */
const rightResults = ['resolve AlreadyDecided', 'giveUp AlreadyDecided', 'refresh NotRead'];

/** What `asked` holds that no run may answer. */
export const judgeAnswers = ({ asked }: Pick<WorkDone, 'asked'>): string[] =>
  Object.entries(asked).flatMap(([name, count]) =>
    rightResults.includes(name) || rightAnswers.some((answer) => name.endsWith(` ${answer}`))
      ? []
      : [`${name}, ${count} times`],
  );

/** The difference of two clocks that are right. */
const slackMs = 1_000;

/** How a trail differs from the sandbox's order; null if it does not. */
export function untrueTrail(trail: OrderTrail, course: Course): string | null {
  const truth = course.map(({ status }) => status);
  const last = truth.at(-1) ?? '';
  if (trail.status !== last || trail.outcome !== outcomes[last]) {
    return `ended as ${trail.status} (${trail.outcome}), the service says ${last}`;
  }
  if (trail.attention) return `ended with the attention ${trail.attention.code}`;
  const instants = trail.timeline.filter(({ source }) => source === 'read').map(({ at }) => Date.parse(at));
  if (instants.some((at, i) => at < (instants[i - 1] ?? 0) - slackMs)) return 'has a timeline that goes back in time';
  const seen = withoutStrange(trail.timeline.filter(({ source }) => source === 'read').map(({ status }) => status));
  let from = 0;
  for (const status of seen) {
    const found = truth.indexOf(status, from);
    if (found < 0) return `shows ${seen.join(' > ')}, the order was ${truth.join(' > ')}`;
    from = found + 1;
  }
  return null;
}

/** The sandbox sent some unusable status words on purpose. The status before such a word comes again after it. */
const withoutStrange = (statuses: readonly string[]): string[] =>
  statuses.filter((status, index) => {
    const isStrange = (word: string | undefined): boolean => word?.includes('\uFFFD') ?? false;
    const before = statuses.slice(0, index).findLast((word) => !isStrange(word));
    return !isStrange(status) && !(isStrange(statuses[index - 1]) && status === before);
  });

async function judgeOrders(sandbox: SandboxControl, { orders }: WorkDone): Promise<Verdict> {
  const problems: string[] = [];
  const lateMs: number[] = [];
  for (const { account: at, orderId, end } of orders) {
    const tell = (what: string) => problems.push(`order ${at}/${orderId}: ${what}`);
    if (!('value' in end)) {
      tell(`${end.code} ${end.message}`);
      continue;
    }
    const course = await sandbox.orderCourse(at as At, orderId);
    const untrue = untrueTrail(end.value, course);
    if (untrue) tell(untrue);
    lateMs.push(Date.parse(end.value.since ?? '') - Date.parse(course.at(-1)?.at ?? ''));
  }
  const figures = { endSeenLateMedianMs: median(lateMs), endSeenLateMostMs: Math.max(...lateMs) };
  return { problems, figures: { ordersFollowed: orders.length, ...figures } };
}

/** The scheduled time may be over before the create reaches the service. */
const isLate = (end: { code: string; message: string }): boolean =>
  end.code === 'Refused' && /in_the_past/.test(end.message);

async function judgeRides(sandbox: SandboxControl, { rides, confirmed, givenUp }: WorkDone): Promise<string[]> {
  const created = await sandbox.createdOrders();
  const problems: string[] = [];
  for (const { requestId, end } of rides) {
    const tell = (what: string) => problems.push(`ride ${requestId}: ${what}`);
    const made = created.filter((order) => order.requestId === rideCallId({ account, requestId }));
    if (!('value' in end)) {
      if (!isLate(end) && !givenUp.includes(requestId)) tell(`${end.code} ${end.message}`);
      if (made.length > 0) tell(`failed, and has ${made.length} orders`);
      continue;
    }
    const { trail, orderId, outcome } = end.value;
    const wanted = outcome === 'withdrawn' ? 0 : 1;
    if (made.length !== wanted) tell(`has ${made.length} orders instead of ${wanted}`);
    if (!trail) continue;
    if (made[0]?.orderId !== orderId) tell('follows another order than it made');
    const course = await sandbox.orderCourse('business', orderId ?? '');
    const untrue = untrueTrail(trail, course);
    if (untrue) tell(untrue);
    for (const { what } of confirmed.filter((one) => one.requestId === requestId)) {
      if (what === 'cancel' && outcome !== 'cancelled') tell(`was cancelled, and ended as ${outcome}`);
      const { note_to_driver: note } = changeOf(requestId);
      if (what === 'change' && made[0]?.order.note_to_driver !== note)
        tell('was changed, and the order does not show it');
    }
  }
  return problems;
}

/** A call that only reads is made for five minutes, and for most of them both workers may be away. */
const isGivenUp = ({ operation, end }: Pick<WorkDone['calls'][number], 'operation' | 'end'>): boolean =>
  !('value' in end) && end.code === 'Unavailable' && !isChanging(operation as BusinessOperation);
const mayGiveUp = 0.1;

/** Have too many of these calls given up? */
export function judgeGivenUp({ calls }: Pick<WorkDone, 'calls'>): string[] {
  const count = calls.filter(isGivenUp).length;
  return count > calls.length * mayGiveUp ? [`${count} of ${calls.length} calls gave up`] : [];
}

async function judgeCalls(sandbox: SandboxControl, { calls }: WorkDone): Promise<string[]> {
  const [created, codes] = [await sandbox.createdOrders(), await sandbox.referenceCodes()];
  return calls.flatMap(({ key, operation, end }) => {
    if (isGivenUp({ operation, end })) return [];
    if (!('value' in end)) return [`call ${key}: ${operation} ended with ${end.code} ${end.message}`];
    const countEffects: Record<string, () => number> = {
      createOrder: () =>
        created.filter(({ requestId }) => requestId === businessCallId({ account, operation: 'createOrder', key }))
          .length,
      addReferenceCode: () => codes.filter(({ value }) => value === key.replaceAll('-', 'x')).length,
    };
    const effects = countEffects[operation]?.();
    return effects === undefined || effects === 1 ? [] : [`call ${key}: ${operation} had ${effects} effects`];
  });
}
