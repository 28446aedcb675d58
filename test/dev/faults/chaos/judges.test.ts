import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../../dev/faults/chaos/faults.js';
import { judgeBudget } from '../../../../dev/faults/chaos/judge-budget.js';
import { addRun, judgeDeliveries, type OrderRuns } from '../../../../dev/faults/chaos/judge-deliveries.js';
import { afterLeaving, disorder, type ToldOrder, untold } from '../../../../dev/faults/chaos/judge-notices.js';
import { wronglyStored, wronglyStoredRide, wrongPeriods } from '../../../../dev/faults/chaos/judge-store.js';
import { acknowledgedOf, judgeStranger } from '../../../../dev/faults/chaos/judge-stranger.js';
import { judgeTokens } from '../../../../dev/faults/chaos/judge-tokens.js';
import { judgeAnswers, untrueTrail } from '../../../../dev/faults/chaos/judge-work.js';
import type { ReceivedNotice } from '../../../../dev/faults/chaos/receivers.js';
import type { Run } from '../../../../dev/faults/chaos/runs.js';
import { grown, growthOf } from '../../../../dev/faults/chaos/soak.js';
import type { StoredPeriod, StoredRide, StoredRow } from '../../../../dev/faults/chaos/store-site.js';
import type { Invention } from '../../../../dev/faults/chaos/strangers.js';
import { isNoFault } from '../../../../dev/faults/chaos/task-failures.js';
import type { DeliveryAttempt } from '../../../../dev/sandbox/delivery/ledger.js';
import type { LedgerEntry } from '../../../../dev/sandbox/ledger.js';
import type { OrderTrail, RideResult } from '../../../../src/client/index.js';

const instant = (ms: number): string => new Date(ms).toISOString();

describe('the judge of deliveries', () => {
  const order = 'order/business/o';
  const attempt = (acknowledgedAs: string | undefined, answer: number | null = 202): DeliveryAttempt => ({
    ...{ delivery: 1, subscriberId: 's', eventType: 'status_changed', orderId: 'o', attempt: 1, cause: 'change' },
    ...{ at: instant(1_000), answer, acknowledgedAs, ms: 10 },
  });
  /** The run of the order, with what arrived at it; without `closedAt` it goes on. */
  const ordersWith = (deliveries: string[], closedAt: number | null = null): Map<string, OrderRuns> =>
    new Map([[order, { deliveries: new Set(deliveries), closedAt }]]);
  const noOrder = new Map<string, OrderRuns>();
  const judged = (attempts: DeliveryAttempt[], orders: Map<string, OrderRuns>, emptyAt: number[]) =>
    judgeDeliveries(attempts, { orders, emptyAt, readAt: 5_000 });
  const [a, b] = [attempt('a'), attempt('b')];

  it('counts what arrived and what the ingress did not acknowledge', () => {
    const unacknowledged = [attempt(undefined, null), attempt(undefined, 503)];
    const { problems, figures } = judged([a, ...unacknowledged], ordersWith(['a']), []);
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ deliveriesAcknowledged: 1, deliveriesUnanswered: 1, deliveriesNotTaken: 1 });
  });

  it.each<[string, DeliveryAttempt[], Map<string, OrderRuns>, emptyAt: number[], figures: object]>([
    ['missed after the end of its order', [a], ordersWith([], 3_000), [500, 4_000], { deliveriesAfterTheEnd: 1 }],
    ['handed over after the runs were read', [a, b], ordersWith(['a']), [500, 5_500], { deliveriesUnderWay: 1 }],
    ['missing at a living order', [a], ordersWith([]), [2_000], { deliveriesLost: 1 }],
    ['handed over before the end', [a], ordersWith([], 3_000), [500, 2_000, 4_000], { deliveriesLost: 1 }],
    ['for an order that no run has followed', [a], noOrder, [2_000], { deliveriesLost: 1 }],
  ])('knows whether a delivery is lost: %s', (_, attempts, orders, emptyAt, expected) => {
    const none = { deliveriesLost: 0, deliveriesAfterTheEnd: 0, deliveriesUnderWay: 0 };
    const { problems, figures } = judged(attempts, orders, emptyAt);
    expect(figures).toMatchObject({ ...none, ...expected });
    const lost = [expect.stringContaining('delivery a of order o')];
    expect(problems).toEqual('deliveriesLost' in expected ? lost : []);
  });

  it('finds a right delivery that the ingress refused', () => {
    const { problems } = judged([attempt(undefined, 401)], noOrder, [2_000]);
    expect(problems).toEqual(['deliveries were answered with 401: 1']);
  });

  it('takes runs that continue one another as one order, which is open while the last of them is', () => {
    const orders = new Map<string, OrderRuns>();
    const add = (id: string, closedAt: number | null) =>
      addRun(orders, { workflowId: order, deliveries: [id], closedAt } as Run);
    add('a', 1_000);
    expect(orders).toEqual(ordersWith(['a'], 1_000));
    add('b', null);
    add('c', 3_000);
    expect(orders).toEqual(ordersWith(['a', 'b', 'c']));
  });
});

describe('the judge of token requests', () => {
  const request = (seconds: number, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
    ...{ operation: 'businessToken', method: 'POST', path: '/oauth/token', scope: 'order', httpStatus: 200 },
    at: instant(seconds * 1_000),
    ...more,
  });
  const fault = (kind: Fault['kind'], target: Fault['target'], seconds: number, untilSeconds = seconds): Fault => ({
    ...{ kind, target, atMs: 0, lastsMs: 0 },
    ...{ beganAt: seconds * 1_000, endedAt: untilSeconds * 1_000 },
  });
  /** Tokens live a minute, so they are renewed from 48 s on. */
  const judged = (requests: LedgerEntry[], faults: Fault[] = []) =>
    judgeTokens(requests, { faults, lifetimeMs: 60_000 });

  it('counts one request in each lifetime for each account and scope', () => {
    const other = { operation: 'partnerToken', scope: 'demand_partner' } as const;
    const { problems, figures } = judged([request(0), request(1, other), request(48), request(96), request(50, other)]);
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ tokenLeases: 2, tokensFirst: 2, tokensRenewed: 3 });
  });

  const revoked = fault('revokeTokens', 'sandbox', 10);
  const killed = (seconds: number) => fault('kill', 'worker-1', seconds, seconds + 2);
  const outage = [fault('kill', 'temporal', 9, 18), fault('kill', 'worker-1', 19)];
  const soonAfter = [request(10), request(36)];
  it.each<[string, requests: LedgerEntry[], faults: Fault[], problems: number]>([
    ['finds a second request within a lifetime', [request(0), request(30)], [], 1],
    ['excuses a request after one that failed', [request(0, { httpStatus: 500 }), request(2)], [], 0],
    ['excuses a request after one without an answer', [request(0, { fault: 'dropConnection' }), request(2)], [], 0],
    ['excuses two requests for a revocation', [request(0), request(10), request(11)], [revoked], 0],
    ['finds a third request for a revocation', [request(0), request(10), request(11), request(12)], [revoked], 1],
    ['excuses the repeat of a request whose worker died just after it', soonAfter, [killed(11)], 0],
    ['finds the repeat of a request whose worker died long after it', soonAfter, [killed(20)], 1],
    ['finds the repeat of a request whose worker was told to stop', soonAfter, [fault('restart', 'worker-1', 11)], 1],
    ['excuses the repeat of what a worker did as it came back', soonAfter, [fault('isolate', 'worker-1', 0, 9)], 0],
    ['finds the repeat of what it did long after that', soonAfter, [fault('isolate', 'worker-1', 0, 6)], 1],
    ['excuses the repeat of a request whose worker died with the answer as Temporal came back', soonAfter, outage, 0],
  ])('%s', (_, requests, faults, problems) => {
    expect(judged(requests, faults).problems).toHaveLength(problems);
  });
});

describe('the judge of the budget', () => {
  const calls = (count: number, everyMs: number, more: Partial<LedgerEntry> = {}): LedgerEntry[] =>
    Array.from({ length: count }, (_, i) => ({
      ...{ operation: 'orderDetails', method: 'GET', path: '/v1/orders/1', clientId: 'a', httpStatus: 200 },
      at: instant(i * everyMs),
      ...more,
    }));

  it.each<[string, ledger: LedgerEntry[], problems: number]>([
    ['more than 1.3 times the budget in ten seconds', calls(131, 50), 1],
    ['1.3 times the budget', calls(130, 50), 0],
    ['a burst between calm times', [...calls(50, 1), ...calls(90, 200)], 0],
    ['the calls of two accounts', [...calls(100, 100), ...calls(100, 100, { clientId: 'b' })], 0],
    ['token requests', calls(500, 10, { operation: 'businessToken' }), 0],
  ])('knows whether 10 calls per second are kept: %s', (_, ledger, problems) => {
    expect(judgeBudget(ledger, 10).problems).toHaveLength(problems);
  });
});

describe('the judge of work', () => {
  const at = instant(0);
  const course = ['Pending', 'Routing', 'Driving', 'Completed'].map((status) => ({ status, at }));
  const trail = (seen: string[], more: Partial<OrderTrail> = {}): OrderTrail =>
    ({
      ...{ status: seen.at(-1), outcome: 'completed', attention: null },
      timeline: seen.map((status) => ({ status, rawStatus: status, at, source: 'read' })),
      ...more,
    }) as OrderTrail;

  it.each([
    ['the whole course', ['Pending', 'Routing', 'Driving', 'Completed']],
    ['some of the course, in order, and its end', ['Routing', 'Completed']],
    [
      'a word with a sign that cannot be shown, and a status that comes again after it',
      ['Pending', 'Dri\uFFFDving', 'Pending', 'Routing', 'Completed'],
    ],
  ])('calls a trail true that shows %s', (_, seen) => {
    expect(untrueTrail(trail(seen), course)).toBeNull();
  });

  it.each<[string, OrderTrail]>([
    ['another end', trail(['Pending', 'Cancelled'], { outcome: 'cancelled' })],
    ['another outcome', trail(['Pending', 'Completed'], { outcome: 'stopped' })],
    ['a status that never was', trail(['Pending', 'Confirmed', 'Completed'])],
    ['a status twice', trail(['Pending', 'Pending', 'Completed'])],
    ['the course in another order', trail(['Driving', 'Routing', 'Completed'])],
    [
      'a time that goes back',
      trail(['Driving', 'Completed'], {
        timeline: [200_000, 0].map((ms, i) => ({
          ...{ status: ['Driving', 'Completed'][i] ?? '', rawStatus: '', source: 'read' },
          at: instant(ms),
        })),
      }),
    ],
    ['attention after the end', trail(['Completed'], { attention: { code: 'forbidden', message: '', since: at } })],
  ])('calls a trail untrue that shows %s', (_, wrong) => {
    expect(untrueTrail(wrong, course)).toEqual(expect.any(String));
  });
});

describe('the judge of notices', () => {
  const notice = (number: number, rawStatus: string, answer: number | null = 204, outcome: string | null = null) =>
    ({ path: '/', id: `msg_run_${number}`, at: number, answer, change: { rawStatus, outcome } }) as ReceivedNotice;
  const words = ['Pending', 'Driving', 'Completed'];
  const entries = words.map((rawStatus) => ({ status: rawStatus, rawStatus, at: instant(0), source: 'read' }));
  const trail = { timeline: entries, outcome: 'completed' } as OrderTrail;
  const course = words.map((status, i) => ({ status, at: instant(i * 1_000) }));
  const about = (toldFrom: number | null = null): ToldOrder => ({ trail, course, toldFrom });
  const end = notice(3, 'Completed', 204, 'completed');
  const all = [notice(1, 'Pending'), notice(2, 'Driving'), end];

  it.each<[string, ReceivedNotice[], ToldOrder, isRight: boolean]>([
    ['every change', all, about(), true],
    ['a change that was refused, and came again', [all[0], notice(2, 'Driving', 500), ...all] as never, about(), true],
    ['a change that was only refused', [all[0], notice(2, 'Driving', null), end] as never, about(), false],
    ['no end', all.slice(0, 2), about(), false],
    ['no outcome', [...all.slice(0, 2), notice(3, 'Completed')], about(), false],
    ['no beginning', all.slice(1), about(), false],
    ['no beginning, of an order that a delivery has started', all.slice(1), about(500), true],
    ['nothing of what came later', all.slice(2), about(500), false],
    ['another status', [...all.slice(0, 2), notice(3, 'Waiting'), end], about(), false],
  ])('knows whether a receiver was told everything: %s', (_, received, order, isRight) => {
    expect(untold(received, order)).toEqual(isRight ? null : expect.stringContaining('told'));
  });

  it('finds a notice that came after a later one, and takes one that came twice', () => {
    expect(disorder([notice(1, 'a'), notice(1, 'a'), notice(2, 'b')])).toBeNull();
    expect(disorder([notice(2, 'b'), notice(1, 'a')])).toContain('msg_run_1');
  });

  it('finds a notice to a receiver that had left', () => {
    const left = notice(2, 'b', 410);
    expect(afterLeaving([notice(1, 'a'), left, left])).toBeNull();
    expect(afterLeaving([notice(1, 'a'), left, notice(3, 'c')])).toContain('msg_run_3');
    expect(afterLeaving(all)).toBeNull();
  });
});

describe('the judge of strangers', () => {
  const sent = (answer: number | null, saysWhen = false): Invention => ({
    ...{ orderId: 'invented-0', at: 0, ms: 10, answer, saysWhen },
    ...(answer === 202 && { acknowledgedAs: 'd' }),
  });
  const read = (atMs: number): LedgerEntry =>
    ({ operation: 'orderDetails', orderId: 'anchor', at: instant(atMs) }) as LedgerEntry;
  const judged = (inventions: Invention[], runs: number, reads: LedgerEntry[] = []) =>
    judgeStranger(
      { sent: inventions, floods: [{ beganAt: 10_000, endedAt: 20_000 }] },
      { ledger: reads, anchorIds: ['anchor'], startedAt: Array(runs).fill(0), ingresses: 2, strangeReads: 1 },
    ).problems;

  it.each<[string, string[], problems: number]>([
    ['finds nothing where all is well', judged([sent(202), sent(429, true), sent(401), sent(null)], 41), 0],
    ['finds runs beyond the limit', judged([], 42), 1],
    ['finds a refusal that does not say when to send again', judged([sent(503)], 0), 1],
    ['finds an answer that should not be', judged([sent(500)], 0), 1],
    ['finds an order that was not read during a flood', judged([], 0, [read(0), read(260_000)]), 1],
    ['finds an order that was first read long after a flood', judged([], 0, [read(260_000)]), 1],
    ['leaves a pause before a flood alone', judged([], 0, [read(-300_000), read(5_000), read(30_000)]), 0],
  ])('%s', (_, problems, count) => {
    expect(problems).toHaveLength(count);
  });

  it('hands acknowledged deliveries to the judge of deliveries', () => {
    expect(acknowledgedOf({ sent: [sent(202), sent(429)] })).toMatchObject([
      { orderId: 'invented-0', acknowledgedAs: 'd', at: instant(0), answer: 202 },
    ]);
  });
});

const unhandled = 'WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE';
const unfetched = (code: string) => `Fetching history failed: Status { code: ${code}, message: "" }`;
it.each([
  ['new events overtook it', 'WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND', 'UnhandledCommand', true],
  ['too much came meanwhile', 'WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND', '', true],
  ['Temporal went away', unhandled, unfetched('Unavailable'), true],
  ['the worker was paused', unhandled, 'Script execution timed out after 5000ms', true],
  ['Temporal does not know the history', unhandled, unfetched('NotFound'), false],
  ['our code threw', unhandled, 'cannot read properties of undefined', false],
  ['a history had a gap', 'UNHANDLED', 'Fatal error in workflow machines: History is out of order. Last: 1', true],
  ['an update was accepted again', 'BAD_UPDATE', ': received *update.Acceptance message while in state Accepted', true],
  ['its history does not replay', 'WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR', 'Nondeterminism', false],
])('the chaos run knows whether a workflow task failed by a fault of ours: %s', (_why, cause, message, isExcused) => {
  expect(isNoFault(cause, message)).toBe(isExcused);
});

it('the judge of answers takes "already decided" from a person who asks again, and from nobody else', () => {
  const asked = { 'resolve done': 3, 'resolve AlreadyDecided': 1, 'change AlreadyDecided': 1, 'change GaveUp': 2 };
  expect(judgeAnswers({ asked })).toEqual(['change AlreadyDecided, 1 times', 'change GaveUp, 2 times']);
});

describe('the judge of a soak', () => {
  const samples = (of: (i: number) => number) =>
    Array.from({ length: 30 }, (_, i) => ({ 'worker: memory, MB': of(i) }));

  it.each<[string, (i: number) => number, string[]]>([
    ['caches that fill in the first third', (i) => Math.min(i, 10) * 20, []],
    ['a value that moves', (i) => 300 + (i % 5) * 5, []],
    ['a small value that grows by little', (i) => i / 4, []],
    ['a value that grows all the time', (i) => 200 + i * 5, ['worker: memory, MB has grown from 273 to 323']],
    ['a value that was never seen', () => Number.NaN, ['worker: memory, MB was not seen']],
  ])('knows what has grown: %s', (_, of, expected) => {
    expect(grown(growthOf(samples(of)))).toEqual(expected);
  });
});

describe('the judge of the store', () => {
  const row = (change: number, rawStatus: string, more: Partial<StoredRow> = {}): StoredRow => ({
    ...{ account: 'business', orderId: 'o', change, status: rawStatus, rawStatus, outcome: null, attention: null },
    ...more,
  });
  const end = row(3, 'Completed', { outcome: 'completed' });
  const trail = {
    outcome: 'completed',
    timeline: [
      { rawStatus: 'Pending', source: 'read' },
      { rawStatus: 'Routing', source: 'delivery' },
      { rawStatus: 'Driving', source: 'read' },
      { rawStatus: 'Completed', source: 'read' },
    ],
  } as OrderTrail;

  it.each<[string, StoredRow[], RegExp | null]>([
    ['each change once', [row(1, 'Pending'), row(2, 'Driving'), end], null],
    [
      'attention beside the changes',
      [row(1, 'Pending'), row(2, 'Driving'), row(3, 'Driving', { attention: 'customerCare' }), { ...end, change: 4 }],
      null,
    ],
    [
      'a change that the run has forgotten',
      [row(1, 'Pending'), row(2, 'Driving'), row(3, 'DriverSwapped'), { ...end, change: 4 }],
      null,
    ],
    ['a change less', [row(1, 'Pending'), { ...end, change: 2 }], /the trail Pending > Driving/],
    ['a change twice', [row(1, 'Pending'), row(2, 'Driving'), row(3, 'Driving'), { ...end, change: 4 }], /3 twice/],
    ['changes in another order', [row(1, 'Driving'), row(2, 'Pending'), end], /the trail/],
    ['a gap', [row(1, 'Pending'), row(3, 'Driving'), { ...end, change: 4 }], /numbers/],
    ['no end', [row(1, 'Pending'), row(2, 'Driving'), row(3, 'Completed')], /the end/],
    ['nothing', [], /the trail/],
  ])('sees %s', (_, rows, why) => {
    const found = wronglyStored(rows, trail);
    if (why) expect(found).toMatch(why);
    else expect(found).toBeNull();
  });

  it('takes characters that PostgreSQL cannot keep as the store does', () => {
    const strange = { outcome: null, timeline: [{ rawStatus: 'a\0b\ud800', source: 'read' }] } as unknown as OrderTrail;
    expect(wronglyStored([row(1, 'a\ufffdb\ufffd')], strange)).toBeNull();
    expect(wronglyStored([row(1, 'ab')], strange)).toMatch(/the trail/);
  });

  const period = (code: string, isOver = true): StoredPeriod => ({
    ...{ kind: 'order', account: 'business', id: 'o', code, isOver },
  });
  const shows = (...codes: (string | null)[]) => codes.map((attention, i) => row(i + 1, `word ${i}`, { attention }));
  it.each<[string, StoredRow[], StoredPeriod[], RegExp | null]>([
    ['no attention', [...shows(null, null), end], [], null],
    ['attention that went', shows(null, 'latePickup', 'latePickup', null), [period('latePickup')], null],
    [
      'attention at the end',
      [...shows('latePickup'), { ...end, attention: 'latePickup' }],
      [period('latePickup')],
      null,
    ],
    [
      'the same attention twice',
      shows('latePickup', null, 'latePickup', 'customerCare', null),
      [period('latePickup'), period('latePickup'), period('customerCare')],
      null,
    ],
    ['a period too few', shows('latePickup', null), [], /its rows latePickup/],
    [
      'a period too many',
      shows('latePickup', null),
      [period('latePickup'), period('latePickup')],
      /its rows latePickup/,
    ],
    ['a period that goes on', shows('latePickup', null), [period('latePickup', false)], /still waits/],
  ])('compares the periods of an order with its rows: %s', (_, rows, periods, why) => {
    const found = wrongPeriods(rows, periods);
    if (why) expect(found).toMatch(why);
    else expect(found).toBeNull();
  });

  const stored: StoredRide = {
    ...{ requestId: 'r', orderId: 'o', ended: true, outcome: 'completed' },
    ...{ failure: null, attention: null },
  };
  const result = (more: Partial<RideResult> = {}) => ({
    value: { requestId: 'r', orderId: 'o', outcome: 'completed', receipt: null, ...more } as RideResult,
  });
  const receipt = { payment_summary: { total_inc_tax: '24.20' } };
  const receipts = ['22.00', '24.20'].map((total, i) => ({ orderId: 'o', version: i + 1, total }));
  const doubt: StoredPeriod = { ...period('outcomeUnknown'), kind: 'ride', id: 'r' };
  const gaveUp = { code: 'OutcomeUnknown', message: '' };
  const failed: StoredRide = { ...stored, orderId: null, outcome: null, failure: 'OutcomeUnknown' };
  it.each<[string, StoredRide | undefined, Parameters<typeof wronglyStoredRide>[1], object, RegExp | null]>([
    ['all of it', stored, result(), {}, null],
    ['its receipts', stored, result({ receipt }), { receipts }, null],
    ['a doubt that is over', stored, result(), { wasDoubted: true, periods: [doubt] }, null],
    ['that a person gave it up', failed, gaveUp, { wasDoubted: true, periods: [doubt] }, null],
    ['nothing of a ride that was withdrawn', undefined, result({ orderId: null, outcome: 'withdrawn' }), {}, null],
    ['nothing', undefined, result(), {}, /missing/],
    ['no end', { ...stored, ended: false }, result(), {}, /the end/],
    ['another order', { ...stored, orderId: 'p' }, result(), {}, /has p/],
    ['another outcome', { ...stored, outcome: 'cancelled' }, result(), {}, /has o, cancelled/],
    ['a failure of a ride that did not fail', { ...failed }, result(), {}, /has ,/],
    ['another failure', { ...failed, failure: 'Refused' }, gaveUp, {}, /failed with Refused/],
    ['attention after the end', { ...stored, attention: 'forbidden' }, result(), {}, /attention/],
    ['no doubt', stored, result(), { wasDoubted: true }, /in doubt/],
    ['a doubt that goes on', stored, result(), { periods: [{ ...doubt, isOver: false }] }, /still waits/],
    ['no receipt', stored, result({ receipt }), {}, /receipt of null/],
    ['a receipt too many', stored, result(), { receipts }, /the ride of null/],
    ['an old receipt', stored, result({ receipt }), { receipts: receipts.slice(0, 1) }, /receipt of 22/],
    ['a receipt twice', stored, result({ receipt }), { receipts: [receipts[1], receipts[1]] }, /receipts 2, 2/],
  ])('sees of a ride %s', (_, given, ending, more, why) => {
    const found = wronglyStoredRide(given, ending, { receipts: [], periods: [], wasDoubted: false, ...more });
    if (why) expect(found).toMatch(why);
    else expect(found).toBeNull();
  });
});
