import { setTimeout as wait } from 'node:timers/promises';
import { pointersWhere } from '../../contracts/body-shape.js';
import { findCreatedOrder } from '../../contracts/call-reply.js';
import type { OperationName } from '../../contracts/contract-profile.js';
import { valueAt } from '../../contracts/json.js';
import { findStatus, statusOf } from '../../contracts/order-reply.js';
import { isOrderId, type OrderId, toScope } from '../../domain/keys.js';
import { isSameStatus } from '../../domain/order/status.js';
import type { ApiReply } from '../../ride-api/http.js';
import { isSuccess } from '../../ride-api/refusal.js';
import { decideRetry } from '../../ride-api/retry-decision.js';
import { type Asked, askOperation, askTokens, type Finding, learn, type Question, type Talk } from './asking.js';
import { type Change, type Judgement, judgeObject, judgeRefusal, judgeSuccess } from './judging.js';
import { orderQuestion } from './questions.js';

/** The one ride that a probe orders and cancels. */
export interface Trial {
  talk: Talk;
  /** The body of create order. */
  body: unknown;
  /** Of both creates. */
  requestId: string;
  tell(finding: Finding): void;
  /** An order exists: called before anything else is sent. */
  tellOrder(orderId: OrderId): void;
  /** Does the operator want to end? Orders that exist are cancelled all the same. */
  isStopped(): boolean;
  /** How long to wait until an order reads cancelled. */
  patienceMs: number;
}

/** What a trial leaves behind. */
export interface TrialEnd {
  /** Orders that it made and did not see cancelled. */
  standing: OrderId[];
  /** An order may exist whose id is not known. */
  mayHaveMore: boolean;
  /** The error that ended the trial early. */
  failure?: unknown;
}

/** The operations without which no ride is ordered. */
export const neededOperations = ['createOrder', 'orderDetails', 'cancelOrder'] as const satisfies OperationName[];

/** Orders the ride, again under the same request id, reads it, cancels what it made, and reads the receipt. Nothing is left out of the
 *  cancelling, whatever happens before it. */
export async function tryRide(trial: Trial): Promise<TrialEnd> {
  const { talk, tell } = trial;
  const { operations } = talk.profile;
  const asked = [...neededOperations.map((name) => operations[name]), operations.orderReceipt];
  for await (const finding of askTokens(talk, asked)) tell(finding);
  const lacksToken = neededOperations.some((name) => !talk.tokens.has(toScope(operations[name].scope)));
  if (lacksToken || trial.isStopped()) return { standing: [], mayHaveMore: false };

  const made: OrderId[] = [];
  const end: TrialEnd = { standing: [], mayHaveMore: false };
  const noteFailure = (failure: unknown): false => {
    end.failure ??= failure;
    return false;
  };
  end.mayHaveMore = await order(trial, made).catch((error) => !noteFailure(error));
  for (const orderId of made) {
    const isGone = await cancel(trial, orderId).catch(noteFailure);
    if (!isGone) end.standing.push(orderId);
  }
  const [first] = made;
  if (first !== undefined && end.failure === undefined && !trial.isStopped()) {
    const receipt: Question = {
      ...{ asks: 'orderReceipt', operation: 'orderReceipt', orderId: first },
      judge: (reply) => judgeObject(reply, 'orderReceipt', talk.profile),
    };
    if (operations.orderReceipt.enabled !== false) tell(learn(talk, (await askOperation(talk, receipt)).finding));
  }
  return end;
}

/** Creates, repeats and reads. Puts every order into `made` as soon as its id is known. True: there may be an order without a known id. */
async function order(trial: Trial, made: OrderId[]): Promise<boolean> {
  const { talk, tell } = trial;
  const keep = (orderId: OrderId): void => {
    made.push(orderId);
    trial.tellOrder(orderId);
  };
  const first = await create(trial, 'createOrder', (reply) => judgeCreate(reply, talk));
  const orderId = orderIdIn(first.reply, talk) ?? (await onlyReadableId(trial, first.reply));
  if (orderId === undefined) return first.mayHaveMade;
  keep(orderId);
  if (trial.isStopped()) return false;

  const { requestIdHeader = '' } = talk.profile.operations.createOrder;
  const again = 'createOrder again under the same request id';
  const second =
    requestIdHeader === '' ? null : await create(trial, again, (reply) => judgeRepeat(reply, talk, orderId));
  const otherId = orderIdIn(second?.reply ?? null, talk);
  if (otherId !== undefined && otherId !== orderId) keep(otherId);
  const mayHaveMore = second?.mayHaveMade === true && otherId === undefined;
  if (trial.isStopped()) return mayHaveMore;

  const { finding } = await readSoon(talk, orderId);
  // An id that reads as an order is that of an order, and no id of the request or the message.
  const isHeeded = otherId === orderId && finding.reads === 'thisOrder';
  const isNews = isHeeded && talk.profile.operations.createOrder.repeatable !== true;
  const repeatable: Change = { kind: 'repeatable', operation: 'createOrder', isRepeatable: true };
  tell(learn(talk, isNews ? { ...finding, changes: [...finding.changes, repeatable] } : finding));
  return mayHaveMore;
}

async function create(
  { talk, tell, body, requestId }: Trial,
  asks: string,
  judge: Question['judge'],
): Promise<Asked & { mayHaveMade: boolean }> {
  const { success } = talk.profile.operations.createOrder;
  const { orderId } = talk.profile.pointers.createOrder;
  const expected = { success, pointers: { orderId } };
  const change = { body, requestId };
  const asked = await askOperation(talk, { asks, operation: 'createOrder', change, expected, judge });
  const mayHaveMade = asked.isUnclear || (asked.reply !== null && (isSuccess(asked.reply) || isVague(asked.reply)));
  const isDark = mayHaveMade && orderIdIn(asked.reply, talk) === undefined;
  const remarks = isDark ? [...asked.finding.remarks, 'whether an order was made is not known'] : asked.finding.remarks;
  tell(learn(talk, { ...asked.finding, remarks }));
  return { ...asked, mayHaveMade };
}

/** Did somebody on the way answer, or the service after it may have made the order? */
const isVague = ({ status }: ApiReply): boolean => status >= 500 || status === 408;

const orderIdIn = (reply: ApiReply | null, { profile }: Talk): OrderId | undefined =>
  reply !== null && isSuccess(reply) ? findCreatedOrder(reply.body, profile.pointers) : undefined;

const noId = 'no order id at pointers.createOrder.orderId';

function judgeCreate(reply: ApiReply, talk: Talk): Judgement {
  if (!isSuccess(reply)) return judgeRefusal(reply, 'createOrder');
  const judged = judgeSuccess(reply, 'createOrder', talk.profile);
  if (orderIdIn(reply, talk) !== undefined) return judged;
  return { ...judged, verdict: 'wrong', remarks: [...judged.remarks, noId] };
}

function judgeRepeat(reply: ApiReply, talk: Talk, orderId: OrderId): Judgement {
  const isClaimed = talk.profile.operations.createOrder.repeatable === true;
  const disproof: Change[] = isClaimed ? [{ kind: 'repeatable', operation: 'createOrder', isRepeatable: false }] : [];
  const stays = (remark: string): Judgement => ({
    ...{ verdict: isClaimed ? 'wrong' : 'fits', changes: disproof },
    remarks: [`${remark}: operations.createOrder.repeatable must be false`],
  });
  if (!isSuccess(reply)) {
    const refused = judgeRefusal(reply, 'createOrder');
    const isClear = refused.verdict !== 'unanswered' && !isVague(reply);
    return isClear ? stays(`the service refuses the repeat with HTTP ${reply.status}`) : refused;
  }
  const otherId = orderIdIn(reply, talk);
  if (otherId === orderId) return { verdict: 'fits', remarks: ['the same order, and no second one'], changes: [] };
  if (otherId === undefined) return { verdict: 'wrong', remarks: [noId], changes: disproof };
  return stays('A SECOND ORDER WAS MADE under the same request id, and both will be cancelled');
}

const idName = /(^|[^a-z])(id|uuid|ref|reference|number|no|code)$|(Id|ID|Uuid|Ref|Number|No)$/;

/** The id in an answer whose order id stands at none of the pointers: only where it is the one id there, and reads as an order. Any other
 *  id may be that of another order, which must not be cancelled. */
async function onlyReadableId({ talk, tell, body }: Trial, reply: ApiReply | null): Promise<OrderId | undefined> {
  if (reply === null || !isSuccess(reply)) return undefined;
  const places = pointersWhere(reply.body, (value) => isOrderId(String(value)) && typeof value !== 'boolean');
  const named = places.filter((place) => idName.test(place.slice(place.lastIndexOf('/') + 1)));
  const [pointer] = named;
  if (pointer === undefined || named.length > 1) return undefined;
  const orderId = String(valueAt(reply.body, pointer)) as OrderId;
  if (JSON.stringify(body).includes(orderId)) return undefined; // the service repeats what it was sent
  const { finding } = await readSoon(talk, orderId);
  if (finding.reads !== 'thisOrder') return undefined;
  const change: Change = { kind: 'pointer', operation: 'createOrder', value: 'orderId', pointer };
  const asks = 'orderDetails of the only id in the answer to createOrder';
  tell(learn(talk, { ...finding, asks, verdict: 'wrong', changes: [change, ...finding.changes] }));
  return orderId;
}

const readsAfterCreate = 3;
const pauseMs = 1_000;

/** A replica of the service may not know a new order at once. */
async function readSoon(talk: Talk, orderId: OrderId): Promise<Asked> {
  for (let left = readsAfterCreate - 1; ; left -= 1) {
    const asked = await askOperation(talk, orderQuestion(talk, 'orderDetails', orderId));
    if (left === 0 || asked.reply?.status !== 404) return asked;
    await wait(pauseMs);
  }
}

const mostCancels = 3;
const shortMs = 2_000;
const longestPauseMs = 30_000;

/** Cancels an order, and waits until it reads so. False: nobody has seen that it is over. */
async function cancel(trial: Trial, orderId: OrderId): Promise<boolean> {
  const { talk, tell } = trial;
  const question: Question = {
    ...{ asks: 'cancelOrder', operation: 'cancelOrder', orderId, change: {}, isUrgent: true },
    judge: (reply) =>
      isSuccess(reply)
        ? { ...judgeSuccess(reply, 'cancelOrder', talk.profile), changes: [] }
        : judgeRefusal(reply, 'cancelOrder'),
  };
  const before = await readUrgently(talk, orderId);
  for (let left = mostCancels; left > 0; left -= 1) {
    const { finding, reply } = await askOperation(talk, question);
    tell(learn(talk, finding));
    const isTaken = reply !== null && isSuccess(reply);
    // An order that could not be read before will hardly be read now.
    const isReadable = wordIn(before.reply, talk) !== null;
    const after = await readUntilOver(trial, orderId, isTaken && isReadable ? trial.patienceMs : shortMs);
    const seen = endSeen(after.reply, talk);
    const isProven = isTaken && seen === 'Cancelled';
    const proven = isProven ? judgeSuccess(reply, 'cancelOrder', talk.profile).changes : [];
    const isClear = reply !== null && reply.status !== 429 && !isVague(reply);
    if (seen === undefined && !isClear && left > 1) {
      await wait(Math.min(longestPauseMs, pauseAfter(reply)));
      continue;
    }
    const isMoved = !isSameStatus(wordIn(before.reply, talk), wordIn(after.reply, talk));
    const why = isTaken && isMoved ? otherWord : 'the order does not read Cancelled';
    const remarks = seen === undefined ? [...after.finding.remarks, why] : after.finding.remarks;
    const verdict = seen === undefined ? 'wrong' : after.finding.verdict;
    const changes = [...after.finding.changes, ...proven];
    tell(learn(talk, { ...after.finding, asks: 'orderDetails after the cancel', verdict, remarks, changes }));
    return seen !== undefined;
  }
  return false;
}

const otherWord = 'the order reads another word than before, which may mean Cancelled: see statuses.endWords';

function pauseAfter(reply: ApiReply | null): number {
  if (reply === null) return pauseMs;
  const decision = decideRetry(reply.status, reply.headers, { now: Date.now(), maxWaitMs: longestPauseMs });
  return decision.retry ? (decision.afterMs ?? pauseMs) : pauseMs;
}

const readUrgently = (talk: Talk, orderId: OrderId): Promise<Asked> =>
  askOperation(talk, { ...orderQuestion(talk, 'orderDetails', orderId), isUrgent: true });

const wordIn = (reply: ApiReply | null, { profile }: Talk): string | null =>
  reply !== null && isSuccess(reply)
    ? (findStatus(reply.body, profile.pointers.orderDetails.status, profile.statuses.notOrderStatus)?.word ?? null)
    : null;

/** The end that an answer shows and after which no driver comes. */
function endSeen(reply: ApiReply | null, talk: Talk): 'Cancelled' | 'Rejected' | undefined {
  const word = wordIn(reply, talk);
  const status = word === null ? undefined : statusOf(word, talk.profile.statuses);
  return status === 'Cancelled' || status === 'Rejected' ? status : undefined;
}

async function readUntilOver({ talk }: Trial, orderId: OrderId, patienceMs: number): Promise<Asked> {
  for (const until = Date.now() + patienceMs; ; ) {
    const asked = await readUrgently(talk, orderId);
    if (endSeen(asked.reply, talk) !== undefined || Date.now() + pauseMs > until) return asked;
    await wait(pauseMs);
  }
}
