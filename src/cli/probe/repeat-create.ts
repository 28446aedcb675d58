import { randomUUID } from 'node:crypto';
import { wallMs } from '../../clock.js';
import { parseCallBody } from '../../contracts/call-bodies.js';
import type { ContractProfile, OperationName } from '../../contracts/contract-profile.js';
import { ownValue } from '../../contracts/json.js';
import { isCancelled } from '../../contracts/order-reply.js';
import type { Account } from '../../domain/account.js';
import { InvalidInput } from '../../domain/errors.js';
import { readInstant } from '../../domain/instant.js';
import { type OrderId, toScope } from '../../domain/keys.js';
import type { ApiReply } from '../../ride-api/http.js';
import { createdOrderOf } from '../../ride-api/named-order.js';
import { operationRequest } from '../../ride-api/operation-request.js';
import { isSuccess } from '../../ride-api/refusal.js';
import { type Judgement, judged } from './judging.js';
import type { Probe, Question } from './question.js';

// Does the service make one order of two creates with the same request id? One scheduled ride is created twice, then each order that
// an answer named is cancelled and read. `repeatable` is proposed only if both answers name one order, and that order reads cancelled.
// In any doubt a person gets the ids, and what to check with them.

const option = '--repeat-create';
/** The operations that the trial needs. */
const steps = ['createOrder', 'cancelOrder', 'orderDetails'] as const;
/** A ride that is due sooner may get a driver, and a fee, before it is cancelled. */
const earliestMs = 2 * 3_600_000;
/** A cancelled order may read so a few seconds later. */
const mostReads = 3;
const readAgainMs = 2_000;

/** Refuses, before anything is sent, what may not be booked. Throws `InvalidInput`. */
export function refuseRepeat(
  body: unknown,
  account: Account,
  { operations }: ContractProfile,
  { yes = false }: { yes?: boolean },
): void {
  if (account.interface !== 'business')
    throw new InvalidInput(`${option}: the ${account.interface} interface has no create`);
  if (!operations.createOrder.requestIdHeader)
    throw new InvalidInput(`${option}: operations.createOrder.requestIdHeader names no header for the request id`);
  for (const name of steps)
    if (operations[name].enabled === false) throw new InvalidInput(`${option}: operations.${name} is switched off`);
  parseCallBody('createOrder', body);
  const at = ownValue(body, 'scheduled_at');
  const pickup = typeof at === 'string' ? readInstant(at) : undefined;
  const now = wallMs();
  if (pickup === undefined || Date.parse(pickup) < now + earliestMs)
    throw new InvalidInput(`${option}: scheduled_at must be at least two hours ahead`);
  if (!yes) throw new InvalidInput(`${option} books one real ride and cancels it; add --yes if you want that`);
}

/** What the creates have shown so far. */
interface Trial {
  requestId: string;
  /** Of each create that was answered with an order. */
  orders: OrderId[];
  /** Those that read cancelled. */
  cancelled: Set<OrderId>;
  /** Was each create answered, and did each answer name an order? */
  isClear: boolean;
}

/** Creates, cancels and reads. A question whose answer is lost is followed by those that clear up what is known. */
export function* repeatQuestions(probe: Probe, body: unknown): Generator<Question> {
  const { tokens, profile } = probe;
  // Without a token for the cancel the ride would stay booked.
  const unready = steps.find((name) => !tokens.has(toScope(profile.operations[name].scope)));
  if (unready !== undefined) {
    const why = `not asked: there is no token for ${unready}`;
    yield {
      ...question(
        probe,
        'createOrder',
        { body },
        {
          ...{ asks: 'createOrder', toCheck: '' },
          judge: () => judged('open'),
        },
      ),
      request: why,
    };
    return;
  }
  const trial: Trial = { requestId: randomUUID(), orders: [], cancelled: new Set(), isClear: true };
  yield createQuestion(probe, body, trial, 'createOrder');
  if (trial.orders.length > 0) yield createQuestion(probe, body, trial, 'createOrder again, with the same request id');
  const made = [...new Set(trial.orders)];
  for (const orderId of made) {
    yield cancelQuestion(probe, orderId, trial);
    for (let read = 1; read <= mostReads && !trial.cancelled.has(orderId); read += 1)
      yield endQuestion(probe, orderId, trial, read);
  }
}

function question(
  { account, profile, tokens }: Probe,
  operation: OperationName,
  call: { orderId?: OrderId; body?: unknown; requestId?: string },
  rest: Omit<Question, 'expected' | 'request'>,
): Question {
  const { method, path, scope, success, source } = profile.operations[operation];
  const accessToken = tokens.get(toScope(scope));
  const { orderId, ...sent } = call;
  const values = orderId === undefined ? {} : { order_id: orderId };
  const request =
    accessToken === undefined
      ? 'not asked: there is no token for it'
      : operationRequest(account, { operation, values, accessToken, ...sent }, profile);
  return { expected: { method, path, scope, success, source }, request, ...rest };
}

function createQuestion(probe: Probe, body: unknown, trial: Trial, asks: string): Question {
  const { requestId, orders } = trial;
  const wasClear = trial.isClear;
  trial.isClear = false; // until an answer says otherwise
  const byHand = `check by hand with the service which orders the request id ${requestId} made, and cancel them`;
  const { url } = operationRequest(
    probe.account,
    { operation: 'createOrder', values: {}, accessToken: '' },
    probe.profile,
  );
  return question(
    probe,
    'createOrder',
    { body, requestId },
    {
      asks,
      toCheck: `whether it made an order: ${byHand}`,
      ifUnanswered: byHand,
      judge(reply) {
        const orderId = isSuccess(reply) ? createdOrderOf(reply, url, probe.profile.pointers) : undefined;
        if (orderId === undefined) return judged('wrong', `HTTP ${reply.status} names no order: ${byHand}`);
        orders.push(orderId);
        trial.isClear = wasClear;
        const [first] = orders;
        const verified: Judgement = {
          ...judged('fits', `it names order ${orderId}`),
          changes: [{ kind: 'verified', operation: 'createOrder' }],
        };
        return orderId === first ? verified : judged('open', `it made another order, ${orderId}: not repeatable`);
      },
    },
  );
}

const toCheckOf = (orderId: OrderId, { requestId }: Trial): string =>
  `check by hand that order ${orderId} (request id ${requestId}) is cancelled`;

const cancelQuestion = (probe: Probe, orderId: OrderId, trial: Trial): Question => {
  const byHand = toCheckOf(orderId, trial);
  return question(
    probe,
    'cancelOrder',
    { orderId },
    {
      asks: `cancelOrder of ${orderId}`,
      toCheck: byHand,
      ifUnanswered: byHand,
      isCleanUp: true,
      judge: (reply) =>
        isSuccess(reply)
          ? { ...judged('fits'), changes: [{ kind: 'verified', operation: 'cancelOrder' }] }
          : judged('wrong', `refused with HTTP ${reply.status}: ${byHand}`),
    },
  );
};

/** The read that has to show the cancelled order; the proof, if all before was clear. */
function endQuestion(probe: Probe, orderId: OrderId, trial: Trial, read: number): Question {
  const { orders, cancelled, isClear } = trial;
  const byHand = toCheckOf(orderId, trial);
  return question(
    probe,
    'orderDetails',
    { orderId },
    {
      asks: `orderDetails of ${orderId}, cancelled`,
      toCheck: byHand,
      ifUnanswered: byHand,
      isCleanUp: true,
      pauseMs: read === 1 ? 0 : readAgainMs,
      judge(reply: ApiReply) {
        if (!isSuccess(reply) || !isCancelled(reply.body, probe.profile))
          return read < mostReads
            ? judged('open', 'it does not read cancelled yet')
            : judged('wrong', `it does not read cancelled: ${byHand}`);
        cancelled.add(orderId);
        const isProven = isClear && orders.length === 2 && orders.every((one) => one === orderId);
        const proof = 'two creates with one request id made one order, which is cancelled';
        return isProven
          ? {
              ...judged('fits', proof),
              changes: [{ kind: 'repeatable' }, { kind: 'verified', operation: 'orderDetails' }],
            }
          : judged('open', 'cancelled; nothing proves that a create may be repeated');
      },
    },
  );
}
