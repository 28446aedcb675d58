import type { Operation } from '../../contracts/contract-profile.js';
import { interfaceTerms } from '../../contracts/interface-terms.js';
import { findStatus } from '../../contracts/order-reply.js';
import { type OrderId, toOrderId } from '../../domain/keys.js';
import { type EndStatus, endStatuses } from '../../domain/order/status.js';
import type { ApiReply } from '../../ride-api/http.js';
import { askOperation, askTokens, type Finding, learn, type Question, type Talk } from './asking.js';
import { judgeEnd, judgeObject, judgeOrder, judgeUnknownOrder, type OrderRead } from './judging.js';

/** The orders that the operator knows. */
export interface KnownOrders {
  /** Any order, best one that is under way. */
  orderId?: OrderId | undefined;
  /** Orders that have ended, by their end. */
  ended: Partial<Record<EndStatus, OrderId>>;
}

/** No service gives this id to an order: the nil UUID of RFC 9562 section 5.9. */
const impossibleOrderId = toOrderId('00000000-0000-0000-0000-000000000000');

/** Asks every question, one after the other, and gives each finding as it comes. Reads only: the only POST asks for a token. */
export async function* askAll(talk: Talk, { orderId, ended }: KnownOrders): AsyncGenerator<Finding> {
  const { account } = talk;
  const operation: OrderRead = interfaceTerms[account.interface].readOperation;
  const known = orderId ?? firstOf(ended);
  const offered = Object.values(talk.profile.operations).filter(
    (one) => isAsked(one) && one.interface === account.interface,
  );
  yield* askTokens(talk, offered);
  if (offered.includes(talk.profile.operations[operation])) {
    const unknown: Question = {
      ...{ asks: `${operation} of an id that cannot exist`, operation, orderId: impossibleOrderId },
      expected: { success: [404] },
      judge: (reply) => judgeUnknownOrder(reply, operation),
    };
    const { finding, reply } = await askOperation(talk, orderQuestion(talk, operation, known));
    yield learn(talk, finding);
    yield learn(talk, (await askOperation(talk, unknown)).finding);
    // Where the profile cannot read one order, it can read no other.
    if (finding.isReadable) yield* askEnded(talk, operation, { ended, seen: orderId === undefined ? null : reply });
  }
  yield* askOfCompany(talk, known);
}

const isAsked = (operation: Operation): boolean => operation.enabled !== false;
const firstOf = (ended: KnownOrders['ended']): OrderId | undefined => Object.values(ended)[0];

/** The question for the operator's order. */
function orderQuestion(
  { profile }: Pick<Talk, 'profile'>,
  operation: OrderRead,
  orderId: OrderId | undefined,
): Question {
  return {
    ...{ asks: operation, operation, ...orNotAsked(orderId) },
    expected: { success: profile.operations[operation].success, pointers: profile.pointers[operation] },
    judge: (reply) => judgeOrder(reply, { operation, orderId: orderId ?? impossibleOrderId, profile }),
  };
}

const orNotAsked = (orderId: OrderId | undefined) =>
  orderId === undefined ? { obstacle: 'not asked: give the id of an order' } : { orderId };

/** Reads the orders that have ended, and compares their words. `seen`: the answer about the first order. */
async function* askEnded(
  talk: Talk,
  operation: OrderRead,
  { ended, seen }: { ended: KnownOrders['ended']; seen: ApiReply | null },
): AsyncGenerator<Finding> {
  const answers: { end: EndStatus; finding: Finding; body: unknown }[] = [];
  for (const end of endStatuses) {
    const orderId = ended[end];
    if (orderId === undefined) continue;
    const asks = `${operation} of an order that is ${end}`;
    const { finding, reply } = await askOperation(talk, { ...orderQuestion(talk, operation, orderId), asks });
    answers.push({ end, finding: learn(talk, finding), body: reply?.body });
  }
  const { pointers, statuses } = talk.profile;
  const wordIn = (body: unknown) => findStatus(body, pointers[operation].status, statuses.notOrderStatus);
  const words = answers.map(({ end, body }) => ({ end, found: wordIn(body) }));
  for (const [at, { finding }] of answers.entries()) {
    if (!finding.isReadable) yield finding;
    else {
      const judged = judgeEnd(at, words, { first: wordIn(seen?.body)?.word, statuses });
      learn(talk, { ...finding, changes: judged.changes });
      yield { ...finding, ...judged, changes: [...finding.changes, ...judged.changes] };
    }
  }
}

async function* askOfCompany(talk: Talk, orderId: OrderId | undefined): AsyncGenerator<Finding> {
  const questions: Question[] = (['companySettings', 'orderReceipt'] as const).map((operation) => ({
    ...{ asks: operation, operation },
    ...(operation === 'orderReceipt' ? orNotAsked(orderId) : {}),
    judge: (reply) => judgeObject(reply, operation, talk.profile),
  }));
  for (const question of questions) {
    const offered = talk.profile.operations[question.operation];
    if (isAsked(offered) && offered.interface === talk.account.interface)
      yield learn(talk, (await askOperation(talk, question)).finding);
  }
}
