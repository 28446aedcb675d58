import { expect, it } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { createBackoff, createPlan } from '../../../src/webhooks/forward/plan.js';
import { type GroupId, groupIdOf, type JournalKey } from '../../../src/webhooks/journal/entries.js';

/** A plan over a journal with one entry for each of these orders. */
function aPlan(orders: readonly string[]) {
  const keys: JournalKey[] = [];
  const add = (orderId: string): JournalKey => {
    keys.push([keys.length + 1, toAccountName('business'), 'status_changed', toOrderId(orderId)]);
    return keys.at(-1) as JournalKey;
  };
  orders.forEach(add);
  const stage = { now: 0, readKeys: 0 };
  const keysAfter = (seq: number, limit: number) => {
    const found = keys.filter(([one]) => one > seq).slice(0, limit);
    stage.readKeys += found.length;
    return found;
  };
  const plan = createPlan({ keysAfter }, () => stage.now);
  return { plan, stage, add, append: (orderId: string) => plan.noteAppend(add(orderId)) };
}

type Plan = ReturnType<typeof aPlan>['plan'];
/** Takes the next group, which there must be. */
const takeNext = (plan: Plan): GroupId => plan.take() ?? expect.fail('no group waits');
const orderOf = (id: GroupId | undefined) => (id === undefined ? undefined : (JSON.parse(id) as string[])[2]);

/** Takes the next group, forwards all it is given, and says whose it was. */
function forwardNext(plan: Plan): string | undefined {
  const id = plan.take();
  if (id === undefined) return undefined;
  plan.noteRemoved(id, plan.oldestOf(id));
  plan.over(id, 'succeeded');
  return orderOf(id);
}

function forwardAll(plan: Plan): string[] {
  const orders: string[] = [];
  for (let order = forwardNext(plan); order !== undefined; order = forwardNext(plan)) orders.push(order);
  return orders;
}

const roomFor = (orders: number) => ({ newOrders: () => orders, newReports: () => 0, parked: () => 0 });
const anyRoom = roomFor(Number.POSITIVE_INFINITY);
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `${n}`);

it('a plan begins with what the journal holds, oldest first, one call per order', () => {
  const { plan } = aPlan(['1', '2', '1', '3', '2']);
  expect(forwardAll(plan)).toEqual(['1', '2', '3']);
  expect(plan.isWaiting()).toBe(false);
});

it('a plan finds each order of a long journal once, without knowing more than some thousands at a time', () => {
  const { plan, stage } = aPlan(numbered(30_000));
  forwardNext(plan);
  expect(stage.readKeys).toBeLessThanOrEqual(2_000);
  expect(forwardAll(plan)).toEqual(numbered(30_000).slice(1));
});

it('a plan takes new groups in turn behind those that wait', () => {
  const { plan, append } = aPlan(['1']);
  append('2');
  expect(forwardNext(plan)).toBe('1');
  append('3');
  expect(forwardAll(plan)).toEqual(['2', '3']);
});

it('a plan leaves in the journal what is too much to remember, and finds it there', () => {
  const { plan, append, stage } = aPlan([]);
  expect(forwardNext(plan)).toBeUndefined();
  for (const order of numbered(12_000)) append(order);
  expect([stage.readKeys, plan.isWaiting()]).toEqual([0, true]);
  expect(forwardAll(plan)).toEqual(numbered(12_000));
});

it('a plan takes no group twice at a time, and takes it again when a delivery came meanwhile', () => {
  const { plan, append } = aPlan(['1']);
  const id = takeNext(plan);
  append('1');
  expect([orderOf(id), plan.take()]).toEqual(['1', undefined]);
  plan.noteRemoved(id, plan.oldestOf(id).slice(0, 1));
  plan.over(id, 'succeeded');
  expect(orderOf(plan.take())).toBe('1');
});

it('a plan gives a long group in parts of a thousand', () => {
  const { plan } = aPlan(Array.from({ length: 2_500 }, () => '1'));
  const sizes: number[] = [];
  for (let id = plan.take(); id !== undefined; id = plan.take()) {
    const keys = plan.oldestOf(id);
    sizes.push(keys.length);
    plan.noteRemoved(id, keys);
    plan.over(id, 'succeeded');
  }
  expect([sizes.reduce((sum, size) => sum + size), Math.max(...sizes)]).toEqual([2_500, 1_000]);
});

it('a plan lets all deliveries of a group that failed wait, while the other groups pass', () => {
  const { plan, append, stage } = aPlan(['stuck', '1']);
  const id = takeNext(plan);
  plan.over(id, 'failed');
  append('stuck');
  expect(forwardAll(plan)).toEqual(['1']);
  stage.now += 1_000;
  plan.tick(anyRoom);
  expect(plan.oldestOf(id)).toHaveLength(2);
  expect(forwardAll(plan)).toEqual(['stuck']);
});

it('a plan holds groups whose orders may not start, counts their deliveries, and tries the newest first', () => {
  const { plan, append } = aPlan(['1', '2', '2', '3', '4']);
  for (let held = 0; held < 4; held += 1) plan.over(takeNext(plan), 'newOrders');
  expect([plan.take(), plan.isWaiting(), [...plan.held().newOrders]]).toEqual([undefined, true, [['business', 5]]]);
  plan.tick(roomFor(0));
  expect(plan.take()).toBeUndefined();
  append('1'); // a delivery may be about a run that somebody has started meanwhile
  plan.over(takeNext(plan), 'newOrders');
  expect([...plan.held().newOrders]).toEqual([['business', 6]]);
  plan.tick(roomFor(2));
  expect(forwardAll(plan)).toEqual(['1', '4']);
  plan.tick(anyRoom);
  expect(forwardAll(plan)).toEqual(['3', '2']);
  expect([plan.isWaiting(), [...plan.held().newOrders]]).toEqual([false, []]);
});

it('a plan keeps a group that was postponed in turn', () => {
  const { plan } = aPlan(['1', '2']);
  plan.over(takeNext(plan), 'postponed');
  expect(forwardAll(plan)).toEqual(['2', '1']);
});

it('a plan reads the journal again when that was reopened, and forgets what was removed meanwhile', () => {
  const { plan, add } = aPlan(['1', '2']);
  const id = takeNext(plan);
  add('3'); // the plan is not told of it
  plan.noteAppend(null);
  expect(forwardNext(plan)).toBe('2');
  plan.noteRemoved(id, [[1, toAccountName('business'), 'status_changed', toOrderId('1')]]);
  plan.over(id, 'succeeded');
  expect(forwardAll(plan)).toEqual(['3']);
});

it('a plan counts a delivery once when it has read it before the journal announces it', () => {
  const { plan } = aPlan(['1']);
  const id = takeNext(plan);
  const [key = expect.fail('no key')] = plan.oldestOf(id);
  plan.noteAppend(key);
  expect(plan.oldestOf(id)).toEqual([key]);
  expect(groupIdOf(key)).toBe(id);
});

it('the back-off of a group doubles from one second to thirty, and starts again after a success', () => {
  const backoff = createBackoff<string>(() => 1);
  const waits = Array.from({ length: 8 }, () => {
    backoff.failed('a', 0);
    return [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000].find((ms) => backoff.takeDue(ms).length > 0);
  });
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  backoff.succeeded('a');
  backoff.failed('a', 0);
  expect(backoff.takeDue(1_000)).toEqual(['a']);
});

it('the back-off of a group lasts at least half of its time, and then gives the group once', () => {
  const backoff = createBackoff<string>(() => 0);
  backoff.failed('a', 0);
  expect([backoff.isWaiting('a'), backoff.takeDue(499), backoff.takeDue(500)]).toEqual([true, [], ['a']]);
  expect([backoff.isWaiting('a'), backoff.takeDue(60_000)]).toEqual([false, []]);
});
