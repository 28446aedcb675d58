import { expect, it, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { ForwardPlan, type Group, oldestOf } from '../../../src/webhooks/forward/plan.js';
import type { JournalKey } from '../../../src/webhooks/journal/disk.js';

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
  const plan = new ForwardPlan({ keysAfter }, () => stage.now);
  return { plan, stage, add, append: (orderId: string) => plan.noteAppend(add(orderId)) };
}

const waiting = (plan: Plan) => plan.waiting()[0]?.deliveries ?? 0;
type Plan = ReturnType<typeof aPlan>['plan'];
/** Takes the next group, which there must be. */
const takeNext = (plan: Plan): Group => plan.take() ?? expect.fail('no group waits');
const orderOf = (group: Group | undefined) => group?.key[3];

/** Takes the next group, forwards all it is given, and says whose it was. */
function forwardNext(plan: Plan): string | undefined {
  const group = plan.take();
  if (group === undefined) return undefined;
  plan.over(group, 'succeeded', oldestOf(group));
  return orderOf(group);
}

function forwardAll(plan: Plan): string[] {
  const orders: string[] = [];
  for (let order = forwardNext(plan); order !== undefined; order = forwardNext(plan)) orders.push(order);
  return orders;
}

const roomFor = (orders: number) => () => orders;
const anyRoom = roomFor(Number.POSITIVE_INFINITY);
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `${n}`);

it('a plan begins with what the journal holds, oldest first, one call per order', () => {
  const { plan } = aPlan(['1', '2', '1', '3', '2']);
  expect(forwardAll(plan)).toEqual(['1', '2', '3']);
  expect(plan.hasMore()).toBe(false);
});

it('a plan finds each order of a long journal once, without knowing more than some thousands at a time', () => {
  const { plan, stage } = aPlan(numbered(30_000));
  forwardNext(plan);
  expect(stage.readKeys).toBeLessThanOrEqual(2_000);
  expect(forwardAll(plan)).toEqual(numbered(30_000).slice(1));
});

it('a plan leaves in the journal what is too much to remember, and finds it there', () => {
  const { plan, append, stage } = aPlan([]);
  expect(forwardNext(plan)).toBeUndefined();
  for (const order of numbered(12_000)) append(order);
  expect([stage.readKeys, plan.hasMore()]).toEqual([0, true]);
  expect(forwardAll(plan)).toEqual(numbered(12_000));
});

it('a plan takes no group twice at a time, and takes it again when a delivery came meanwhile', () => {
  const { plan, append } = aPlan(['1']);
  const group = takeNext(plan);
  append('1');
  expect([orderOf(group), plan.take()]).toEqual(['1', undefined]);
  plan.over(group, 'succeeded', oldestOf(group).slice(0, 1));
  expect(orderOf(plan.take())).toBe('1');
});

it('a plan gives a long group in parts of ten thousand', () => {
  const { plan, append } = aPlan([]);
  expect(plan.take()).toBeUndefined();
  for (let come = 0; come < 25_000; come += 1) append('1');
  const sizes: number[] = [];
  for (let group = plan.take(); group !== undefined; group = plan.take()) {
    const keys = oldestOf(group);
    sizes.push(keys.length);
    plan.over(group, 'succeeded', keys);
  }
  expect([sizes.reduce((sum, size) => sum + size), Math.max(...sizes)]).toEqual([25_000, 10_000]);
});

it('a plan lets all deliveries of a group that failed wait, while the other groups pass', () => {
  const { plan, append, stage } = aPlan(['stuck', '1']);
  const group = takeNext(plan);
  plan.over(group, 'failed');
  append('stuck');
  expect(forwardAll(plan)).toEqual(['1']);
  stage.now += 1_000;
  plan.tick(anyRoom);
  expect(oldestOf(group)).toHaveLength(2);
  expect(forwardAll(plan)).toEqual(['stuck']);
});

it('a plan holds groups whose orders may not start, counts their deliveries, and tries the newest first', () => {
  const { plan, append } = aPlan(['1', '2', '2', '3', '4']);
  for (let held = 0; held < 4; held += 1) plan.over(takeNext(plan), 'newOrders');
  expect([plan.take(), plan.hasMore(), waiting(plan)]).toEqual([undefined, true, 5]);
  plan.tick(roomFor(0));
  expect(plan.take()).toBeUndefined();
  append('1'); // a delivery may be about a run that somebody has started meanwhile
  plan.over(takeNext(plan), 'newOrders');
  expect(waiting(plan)).toBe(6);
  plan.tick(roomFor(2));
  expect(forwardAll(plan)).toEqual(['1', '4']);
  plan.tick(anyRoom);
  expect(forwardAll(plan)).toEqual(['3', '2']);
  expect([plan.hasMore(), waiting(plan), plan.waiting()]).toEqual([false, 0, []]);
});

it('a plan keeps a group that was postponed in turn', () => {
  const { plan } = aPlan(['1', '2']);
  plan.over(takeNext(plan), 'postponed');
  expect(forwardAll(plan)).toEqual(['2', '1']);
});

it('a plan reads the journal again when that was reopened', () => {
  const { plan, add } = aPlan(['1', '2']);
  const group = takeNext(plan);
  add('3'); // the plan is not told of it
  plan.noteAppend(null);
  expect(forwardNext(plan), 'forwarded twice rather than never').toBe('1');
  plan.over(group, 'failed', []);
  expect(forwardAll(plan)).toEqual(['2', '3']);
  expect([plan.inFlight(), plan.hasMore()]).toEqual([0, false]);
});

it('a plan counts a delivery once when it has read it before the journal announces it', () => {
  const { plan } = aPlan(['1']);
  const group = takeNext(plan);
  const [key = expect.fail('no key')] = oldestOf(group);
  plan.noteAppend(key);
  expect(oldestOf(group)).toEqual([key]);
});

it('a group that fails rests for up to a second, then twice as long up to thirty, and for a second again after a success', () => {
  vi.spyOn(Math, 'random').mockReturnValue(0); // then a rest lasts half of its longest time, so that groups do not rest in step
  const { plan, stage, append } = aPlan(['1', '2']);
  const fail = () => {
    const group = takeNext(plan);
    plan.over(group, 'failed');
    const since = stage.now;
    while (plan.take() === undefined) {
      stage.now += 500;
      plan.tick(anyRoom);
    }
    plan.over(group, 'postponed');
    return stage.now - since;
  };
  forwardNext(plan);
  const rests = Array.from({ length: 7 }, fail);
  expect(rests).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
  append('2');
  const group = takeNext(plan);
  plan.over(group, 'succeeded', oldestOf(group).slice(0, 1));
  expect(fail()).toBe(500);
});
