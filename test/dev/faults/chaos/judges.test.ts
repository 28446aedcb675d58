import { expect, it } from 'vitest';
import type { Fault } from '../../../../dev/faults/chaos/faults.js';
import { judgeBudget } from '../../../../dev/faults/chaos/judge-budget.js';
import { judgeDeliveries, type OrderRuns } from '../../../../dev/faults/chaos/judge-deliveries.js';
import { afterLeaving, disorder, untold } from '../../../../dev/faults/chaos/judge-notices.js';
import { wronglyStored } from '../../../../dev/faults/chaos/judge-store.js';
import { judgeStranger } from '../../../../dev/faults/chaos/judge-stranger.js';
import { judgeTokens } from '../../../../dev/faults/chaos/judge-tokens.js';
import { judgeAnswers, judgeGivenUp, untrueTrail } from '../../../../dev/faults/chaos/judge-work.js';
import type { ReceivedNotice } from '../../../../dev/faults/chaos/receivers.js';
import type { LeftOut } from '../../../../dev/faults/chaos/runs.js';
import { grown, growthOf } from '../../../../dev/faults/chaos/soak.js';
import type { StoredRow } from '../../../../dev/faults/chaos/store-site.js';
import { isNoFault } from '../../../../dev/faults/chaos/task-failures.js';
import type { DeliveryAttempt } from '../../../../dev/sandbox/delivery/ledger.js';
import type { LedgerEntry } from '../../../../dev/sandbox/ledger.js';
import type { OrderTrail } from '../../../../src/client/index.js';

// A judge that finds nothing wrong proves nothing: each meets what is right and what is wrong.

const instant = (ms: number): string => new Date(ms).toISOString();
const words = ['Pending', 'Driving', 'Completed'];

/** One delivery was acknowledged after a second; the runs were read after five. */
function deliveries(
  arrived: string[],
  closedAt: number | null,
  emptyAt: number[],
  answer = 202,
  leftOut: LeftOut[] = [],
): string[] {
  const attempt = {
    eventType: 'status_changed',
    orderId: 'o',
    at: instant(1_000),
    ms: 10,
    answer,
    acknowledgedAs: answer === 202 ? 'a' : undefined,
  };
  const orders = new Map<string, OrderRuns>([
    ['order/business/o', { deliveries: new Set(arrived), leftOut, closedAt }],
  ]);
  return judgeDeliveries([attempt as DeliveryAttempt], { orders, emptyAt, readAt: 5_000 }).problems;
}

/** Tokens live a minute, and are requested at these seconds. */
function tokens(seconds: number[], faults: Partial<Fault>[] = [], first: Partial<LedgerEntry> = {}): string[] {
  const requests = seconds.map((at, index) => ({
    ...{ operation: 'businessToken', scope: 'order', httpStatus: 200, at: instant(at * 1_000) },
    ...(index === 0 ? first : {}),
  }));
  return judgeTokens(requests as LedgerEntry[], { faults: faults as Fault[], lifetimeMs: 60_000 }).problems;
}
const killedAt = (second: number): Partial<Fault>[] => [
  { kind: 'kill', target: 'worker-1', beganAt: second * 1_000, endedAt: second * 1_000 + 2_000 },
];

const gaveUp = (n: number, operation = 'products') => Array(n).fill({ operation, end: { code: 'Unavailable' } });
const misled = (from: number, to: number): Partial<Fault>[] => [
  { kind: 'mislead', target: 'profile', beganAt: from * 1_000, endedAt: to * 1_000 },
  { kind: 'restart', target: 'worker-1', beganAt: from * 1_000, endedAt: (from + 1) * 1_000 },
];

/** So many calls of one account, so many milliseconds apart. */
const calls = (count: number, everyMs: number): string[] =>
  judgeBudget(
    Array.from({ length: count }, (_, i) => ({
      operation: 'orderDetails',
      clientId: 'a',
      at: instant(i * everyMs),
    })) as never,
    10,
  ).problems;

const course = words.map((status, i) => ({ status, at: instant(i * 1_000) }));
const trailOf = (seen: string[], outcome = 'completed'): OrderTrail =>
  ({
    ...{ status: seen.at(-1), outcome, attention: null },
    timeline: seen.map((status) => ({ status, rawStatus: status, at: instant(0), source: 'read' })),
  }) as OrderTrail;

const notice = (number: number, rawStatus: string, answer = 204, outcome: string | null = null): ReceivedNotice =>
  ({ path: '/', id: `msg_run_${number}`, at: number, answer, change: { rawStatus, outcome } }) as ReceivedNotice;
const end = notice(3, 'Completed', 204, 'completed');
const told = (...notices: ReceivedNotice[]) => untold(notices, { trail: trailOf(words), course, toldFrom: null });

const stored = (...rows: [change: number, rawStatus: string, outcome?: string][]) =>
  wronglyStored(
    rows.map(([change, rawStatus, outcome = null]) => ({
      change,
      rawStatus,
      status: rawStatus,
      outcome,
    })) as StoredRow[],
    trailOf(words),
  );

function strangers(answer: number | null, runs: number, readAt: number[] = []): string[] {
  const sent = [{ orderId: 'invented-0', at: 0, ms: 10, answer, saysWhen: false }];
  const ledger = readAt.map((at) => ({ operation: 'orderDetails', orderId: 'anchor', at: instant(at) }) as LedgerEntry);
  return judgeStranger(
    { sent, floods: [{ beganAt: 10_000, endedAt: 20_000 }] },
    { ledger, anchorIds: ['anchor'], startedAt: Array(runs).fill(0), ingresses: 2, strangeReads: 1 },
  ).problems;
}

const soak = (of: (i: number) => number) =>
  grown(growthOf(Array.from({ length: 30 }, (_, i) => ({ 'worker: memory, MB': of(i) }))));

const threw = (message: string) => !isNoFault('WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE', message);

it.each<[what: string, isWrong: boolean, found: unknown]>([
  ['a delivery that arrived', false, deliveries(['a'], null, [])],
  ['a delivery that came after the end of its order', false, deliveries([], 3_000, [500, 4_000])],
  ['a delivery that a living order lacks', true, deliveries([], null, [2_000])],
  [
    'a delivery that a signal counts without its id',
    false,
    deliveries([], null, [2_000], 202, [{ from: 900, to: 1_005, count: 1 }]),
  ],
  [
    'a delivery that only an earlier signal could count',
    true,
    deliveries([], null, [2_000], 202, [{ from: 800, to: 900, count: 1 }]),
  ],
  [
    'one delivery more than a signal counts',
    true,
    deliveries([], null, [2_000], 202, [{ from: 900, to: 1_005, count: 0 }]),
  ],
  ['a right delivery that was refused', true, deliveries([], null, [2_000], 401)],
  ['a token request in each lifetime', false, tokens([0, 48, 96])],
  ['a second one within a lifetime', true, tokens([0, 30])],
  ['one after one that failed', false, tokens([0, 2], [], { httpStatus: 500 })],
  ['one whose worker died just after it', false, tokens([10, 36], killedAt(11))],
  ['one whose worker died long after it', true, tokens([10, 36], killedAt(20))],
  ['one by a worker that has started under a wrong profile', false, tokens([10, 36], misled(9, 12))],
  ['one after that worker has started again', true, tokens([10, 36], [...misled(1, 4), ...killedAt(6)])],
  ['one read of ten that gave up', false, judgeGivenUp({ calls: [...gaveUp(1), ...gaveUp(9, 'createOrder')] })],
  ['two of ten', true, judgeGivenUp({ calls: [...gaveUp(2), ...gaveUp(8, 'createOrder')] })],
  ['1.3 times the budget in ten seconds', false, calls(130, 50)],
  ['more than that', true, calls(131, 50)],
  ['a trail of the whole course', false, untrueTrail(trailOf(words), course)],
  ['a trail of a part of it, in order', false, untrueTrail(trailOf(['Driving', 'Completed']), course)],
  ['a trail of a status that never was', true, untrueTrail(trailOf(['Pending', 'Confirmed', 'Completed']), course)],
  ['a trail in another order', true, untrueTrail(trailOf(['Driving', 'Pending', 'Completed']), course)],
  ['a trail with another outcome', true, untrueTrail(trailOf(words, 'stopped'), course)],
  ['notices of every change', false, told(notice(1, 'Pending'), notice(2, 'Driving'), end)],
  ['a notice that was only refused', true, told(notice(1, 'Pending'), notice(2, 'Driving', 500), end)],
  ['no notice of the end', true, told(notice(1, 'Pending'), notice(2, 'Driving'))],
  ['a notice that came twice', false, disorder([notice(1, 'a'), notice(1, 'a'), notice(2, 'b')])],
  ['a notice that came after a later one', true, disorder([notice(2, 'b'), notice(1, 'a')])],
  ['a notice to a receiver that had left', true, afterLeaving([notice(2, 'b', 410), notice(3, 'c')])],
  ['rows of each change', false, stored([1, 'Pending'], [2, 'Driving'], [3, 'Completed', 'completed'])],
  ['a row less', true, stored([1, 'Pending'], [2, 'Completed', 'completed'])],
  ['a row twice', true, stored([1, 'Pending'], [2, 'Driving'], [3, 'Driving'], [4, 'Completed', 'completed'])],
  ['strangers within their limit', false, strangers(401, 41)],
  ['runs of strangers beyond it', true, strangers(401, 42)],
  ['a refusal that does not say when to send again', true, strangers(503, 0)],
  ['an order that was not read during a flood', true, strangers(401, 0, [0, 260_000])],
  ['caches that fill in the first third', false, soak((i) => Math.min(i, 10) * 20)],
  ['memory that grows all the time', true, soak((i) => 200 + i * 5)],
  ['a task that lost its server', false, threw('Fetching history failed: Status { code: Unavailable, message: "" }')],
  [
    'a task whose connection broke',
    false,
    threw('Fetching history failed: Status { code: Unknown, message: "transport error", source: None }'),
  ],
  [
    'a history that nobody could read',
    true,
    threw('Fetching history failed: Status { code: Unknown, message: "bad" }'),
  ],
  ['a task in which our code threw', true, threw('cannot read properties of undefined')],
  ['a person who decides twice', false, judgeAnswers({ asked: { 'resolve AlreadyDecided': 1 } })],
  ['a change that was decided before it was asked for', true, judgeAnswers({ asked: { 'change AlreadyDecided': 1 } })],
])('the judges of the fault suite say of %s whether it is wrong: %s', (_, isWrong, found) => {
  expect(Array.isArray(found) ? found.length > 0 : Boolean(found)).toBe(isWrong);
});
