import type { OrderTrail } from '../../client/index.js';
import { isConcernCode } from '../../domain/attention.js';
import { isSameStatus } from '../../domain/order/status.js';
import type { OrderObservation } from '../../domain/order/trail.js';
import { type FollowOrderKey, followOrderId } from '../../domain/workflow-ids.js';
import { hasCode } from '../../temporal/run-errors.js';
import { readEndedOrder } from '../../temporal/single-reads.js';
import { callTimeoutMs, type Session } from '../command.js';
import { knownOf, readTrail } from '../order/show.js';

/** What became of a difference. `left`: a person had decided that the order is not followed. */
export type Done = 'refreshed' | 'followedAgain' | 'left' | 'toDo' | 'unread';

/** An order, or the receipt of a ride, that was not what the service says; or that could not be read. */
export interface Difference {
  account: string;
  orderId: string;
  /** The ride whose receipt it is; absent for the order itself. */
  requestId?: string;
  was: string;
  /** Null: unread. */
  is: string | null;
  done: Done;
  /** What a person can do; for what could not be read, why. */
  hint?: string;
}

/** Null: all is as the service says. */
export type Finding = Difference | null;

type Ended = Awaited<ReturnType<typeof readTrail>>;

/** A read waits for its turn in the account's budget. */
const readWithinMs = 60_000;

/** Compares an order with the service and mends what it can: reads an open run, follows an order again that ended before it did. */
export async function reconcileOrder(session: Session, key: FollowOrderKey, again: boolean): Promise<Finding> {
  const found = await session.find(followOrderId(key));
  if (!found) return null; // past its retention since it was listed
  if (found.isOpen) return await refresh(session, key, knownOf(found).status);
  const ended = await readTrail(session, key, found);
  const isBrokenOff = ended.trail === null && ended.failure?.code !== 'OrderNotFound';
  if (isBrokenOff || ended.trail?.outcome === 'expired') return await followAgain(session, key, ended);
  return await compare(session, key, ended, again);
}

async function refresh(session: Session, key: FollowOrderKey, known: string | null): Promise<Finding> {
  const trail = await readNow(session, key);
  const was = known ?? 'not read yet';
  if (whyUnread(trail) !== null) return unread(key, was, whyUnread(trail));
  return isSameStatus(known, trail.status) ? null : { ...key, was, is: statusText(trail), done: 'refreshed' };
}

/** The trail after a read that starts now; of a run that ends meanwhile its result. */
async function readNow({ rides, within }: Session, { account, orderId }: FollowOrderKey): Promise<OrderTrail> {
  const order = rides.get(account, orderId);
  try {
    return await order.refresh({ withinMs: readWithinMs });
  } catch (error) {
    if (!hasCode(error, 'AlreadyEnded')) throw error;
    return await within(callTimeoutMs, () => order.result());
  }
}

async function followAgain(session: Session, key: FollowOrderKey, ended: Ended): Promise<Finding> {
  const was = endText(ended);
  await session.within(callTimeoutMs, () => session.rides.follow({ ...key }, { again: true }));
  const trail = await readNow(session, key);
  const why = whyUnread(trail);
  if (why !== null) return unread(key, was, `it is followed again, and cannot be read: ${why}`);
  return { ...key, was, is: statusText(trail), done: 'followedAgain' };
}

/** Reads an order whose end stands: it ended at the service, a person stopped its run, or the service did not know it. */
async function compare(session: Session, key: FollowOrderKey, ended: Ended, again: boolean): Promise<Finding> {
  const { client, config, commandLine } = session;
  const { trail, found } = ended;
  const was = endText(ended);
  const last = trail ?? { rawStatus: null, since: found.startedAt };
  const seen = await readEndedOrder(client, config.taskQueue, key, last);
  if (seen.kind !== 'reading') return trail === null && isUnknown(seen) ? null : unread(key, was, troubleText(seen));
  const { status, terminal } = seen.reading;
  const isSame = trail !== null && isSameStatus(trail.status, status);
  if (isSame && (terminal || !trail.terminal)) return null;
  if (trail === null || (again && !trail.terminal)) return await followAgain(session, key, ended);
  const follow = commandLine('order', 'follow', key.account, key.orderId, '--again');
  if (!trail.terminal) return { ...key, was, is: status, done: 'left', hint: follow };
  const erase = commandLine('erase', key.account, key.orderId);
  const hint = `an end is final; correct statuses in the contract profile if that was wrong, then: ${erase}, and: ${follow}`;
  return { ...key, was, is: isSame ? `${status}, which is no end` : status, done: 'toDo', hint };
}

/** That something could not be read, and why. */
export const unread = (about: Pick<Difference, 'account' | 'orderId' | 'requestId'>, was: string, why: unknown) =>
  ({ ...about, was, is: null, done: 'unread', hint: String(why) }) satisfies Difference;

/** Attention about the plumbing means that the service gave no status. */
function whyUnread({ attention }: OrderTrail): string | null {
  return attention === null || isConcernCode(attention.code) ? null : `${attention.code}: ${attention.message}`;
}

type Trouble = Exclude<OrderObservation, { kind: 'reading' }>;

const isUnknown = (seen: Trouble): boolean => seen.kind === 'unknownOrder' || seen.attention.code === 'orderNotFound';

const troubleText = (seen: Trouble): string =>
  seen.kind === 'unknownOrder'
    ? 'orderNotFound: the service does not know it'
    : `${seen.attention.code}: ${seen.attention.message}`;

const statusText = ({ status }: Pick<OrderTrail, 'status'>): string => status ?? 'not read yet';

/** "Completed", "expired at Driving", "terminated at Routing". */
function endText({ trail, found }: Ended): string {
  if (trail?.terminal) return statusText(trail);
  return `${trail?.outcome ?? found.state} at ${statusText({ status: trail?.status ?? knownOf(found).status })}`;
}
