import type { Operation } from '../../contracts/contract-profile.js';
import { interfaceTerms } from '../../contracts/interface-terms.js';
import { findStatus } from '../../contracts/order-reply.js';
import { type OrderId, toOrderId } from '../../domain/keys.js';
import { type EndStatus, endStatuses } from '../../domain/order/status.js';
import type { ApiReply } from '../../ride-api/http.js';
import { type Asked, askOperation, askTokens, type Finding, learn, type Question, type Talk } from './asking.js';
import { changed, judgeEnd, judgeObject, judgeOrder, judgeUnknownOrder, type OrderRead } from './judging.js';

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
    const { finding, reply } = await askOrderAnywhere(talk, operation, orderId ?? firstOf(ended));
    yield learn(talk, finding);
    yield learn(talk, (await askOperation(talk, unknown)).finding);
    // Where the profile cannot read one order, it can read no other.
    if (finding.reads !== undefined)
      yield* askEnded(talk, operation, { ended, seen: orderId === undefined ? null : reply });
  }
  yield* askOfCompany(talk, orderId ?? firstOf(ended));
}

const isAsked = (operation: Operation): boolean => operation.enabled !== false;
const firstOf = (ended: KnownOrders['ended']): OrderId | undefined => Object.values(ended)[0];

/** The question for the operator's order. */
export function orderQuestion(
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

// What else the path of an order may be made of.
const prefixes = ['/v1', '/v2', '/v3', '/v4', '/api/v1', '/api/v2', '/business/v1', '/v1/business', ''];
const nouns = ['orders', 'rides', 'trips', 'bookings', 'journeys'];
const tails = ['/{order_id}', '/{order_id}/status', '/{order_id}/details', '/status/{order_id}'];
const mostTries = 64;

/** Other paths under which an order may be read, those most like `path` first. */
export function pathsNear(path: string): string[] {
  const [base = '', ...query] = path.split('?');
  const differences = ([prefix = '', noun, tail = '']: readonly string[]): number =>
    Number(prefix === '' || !base.startsWith(`${prefix}/`)) +
    Number(!base.includes(`/${noun}/`)) +
    Number(!base.endsWith(tail));
  const all = prefixes.flatMap((prefix) => nouns.flatMap((noun) => tails.map((tail) => [prefix, noun, tail])));
  return all
    .toSorted((one, other) => differences(one) - differences(other))
    .map(([prefix, noun, tail]) => `${prefix}/${noun}${tail}`)
    .filter((other) => other !== base)
    .slice(0, mostTries)
    .map((other) => [other, ...query].join('?'));
}

/** Where a path looks wrong: nothing there, another method, or somewhere else. */
const isElsewhere = ({ status }: ApiReply): boolean => [301, 302, 307, 308, 404, 405].includes(status);

/** Reads the order. Where an assumed path looks wrong, tries a few others until one answers with this very order. */
async function askOrderAnywhere(talk: Talk, operation: OrderRead, orderId: OrderId | undefined): Promise<Asked> {
  const first = await askOperation(talk, orderQuestion(talk, operation, orderId));
  const isWrongPlace = first.reply === null ? first.finding.verdict === 'wrong' : isElsewhere(first.reply);
  const { path: guess, source } = talk.profile.operations[operation];
  if (!isWrongPlace || orderId === undefined || source !== 'assumed') return first;
  const tried: NonNullable<Finding['tried']> = [];
  for (const path of pathsNear(guess)) {
    const change = { kind: 'path', operation, path } as const;
    const there: Talk = { ...talk, profile: changed(talk.profile, change, '') };
    const { finding, reply, isUnclear } = await askOperation(there, orderQuestion(there, operation, orderId));
    if (finding.verdict === 'unanswered') break;
    tried.push({ path, status: reply?.status ?? null });
    if (finding.reads !== 'thisOrder') continue;
    const { expected } = first.finding;
    const found: Finding = { ...finding, expected, tried, verdict: 'wrong', changes: [change, ...finding.changes] };
    return { finding: found, reply, isUnclear };
  }
  const answering = tried.filter(({ status }) => status !== null && status < 300).map(({ path }) => path);
  const remarks = [
    ...first.finding.remarks,
    `${tried.length} other paths were tried: none is surely that of this order`,
    ...answering.map((path) => `GET ${path} answers, too: a person must decide`),
  ];
  return { ...first, finding: { ...first.finding, remarks, tried } };
}

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
    if (finding.reads === undefined) yield finding;
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
