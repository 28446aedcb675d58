import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, inject, it, onTestFinished } from 'vitest';
import { runHere } from '../cli/fake-process.js';
import { isLong } from '../support/long.js';
import { type AnOrder, anOrderOf, orderRunOf } from '../support/order/ends.js';
import { type OrderStack, shows, startOrderStack, trailOf, useOrderStack } from '../support/order/stack.js';
import { lifeOf, requestedRide, shortLimits } from '../support/ride/rides.js';
import { areListed } from '../support/runs.js';

// A day on which the ingress was off: no delivery comes, and polls are so slow that they find nothing.
const day = { FARETRAIL_POLL_ACTIVE_MS: '3600000', FARETRAIL_POLL_PUSHED_MS: '3600000' };
const stack = useOrderStack({ env: day });
afterEach(() => stack.sandbox.clearFaults());

interface Told {
  state: string;
  checked: number;
  differences: { orderId: string; was: string; is: string | null; done: string; hint?: string }[];
}

const run = (options: string[], at: OrderStack = stack, more?: Parameters<typeof runHere>[2]) =>
  runHere(
    ['reconcile', '--since', '1h', ...options],
    { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: at.config.taskQueue },
    more,
  );

async function reconcile(options: string[] = [], at: OrderStack = stack, more?: Parameters<typeof runHere>[2]) {
  const { stdout, stderr, exitCode } = await run(['--json', ...options], at, more);
  return { exitCode, stderr, told: (stdout === '' ? null : JSON.parse(stdout)) as Told };
}

/** What was told of an order. */
const about = ({ told }: { told: Told }, { orderId }: AnOrder) =>
  told.differences.filter((one) => one.orderId === orderId).map(({ was, is, done }) => `${was} > ${is}: ${done}`);

const commandOf = ({ told }: { told: Told }, { orderId }: AnOrder) =>
  told.differences.find((one) => one.orderId === orderId)?.hint;

/** Follows a new order until it was read once; visibility shows the run a second later. */
async function followed(more: { followForMs?: number } = {}, at: OrderStack = stack): Promise<AnOrder> {
  const order = anOrderOf(at);
  await shows(await at.follow('business', order.orderId, more), { status: 'Routing' });
  return order;
}

const set = ({ orderId }: AnOrder, status: string, at: OrderStack = stack) =>
  at.sandbox.setStatus('business', orderId, status);

const isListed = (orders: AnOrder[], state: string, at: OrderStack = stack) =>
  areListed(
    at.client,
    state,
    orders.map(({ orderId }) => `order/business/${orderId}`),
  );

it('after a day without deliveries one command makes every order right, and names what differed', async () => {
  const [same, driving, done, broken, idle] = await Promise.all(Array.from({ length: 5 }, () => followed()));
  const expired = await followed({ followForMs: 1_000 });
  const all = [same, driving, done, broken, idle, expired] as AnOrder[];
  for (const order of [broken, idle]) await orderRunOf(stack, order as AnOrder).terminate('by mistake');
  await orderRunOf(stack, expired).result();
  for (const order of [driving, broken] as AnOrder[]) set(order, 'Driving');
  for (const order of [done, expired] as AnOrder[]) set(order, 'Completed');
  await isListed([same, driving, done] as AnOrder[], 'Running');
  await isListed([broken, idle] as AnOrder[], 'Terminated');
  await isListed([expired], 'Completed');

  const first = await reconcile();
  expect(first, JSON.stringify(first)).toMatchObject({ exitCode: 0, told: { state: 'done', checked: all.length } });
  expect(all.map((order) => about(first, order))).toEqual([
    [],
    ['Routing > Driving: refreshed'],
    ['Routing > Completed: refreshed'],
    ['terminated at Routing > Driving: followedAgain'],
    ['terminated at Routing > Routing: followedAgain'],
    ['expired at Routing > Completed: followedAgain'],
  ]);
  for (const order of [driving, broken] as AnOrder[])
    expect(await trailOf(orderRunOf(stack, order))).toMatchObject({ status: 'Driving', outcome: null });
  for (const order of [done, expired] as AnOrder[])
    expect(await orderRunOf(stack, order).result()).toMatchObject({ outcome: 'completed' });

  await isListed([same, driving, broken, idle] as AnOrder[], 'Running');
  const second = await reconcile();
  expect(second).toMatchObject({ exitCode: 0, told: { checked: all.length, differences: [] } });
});

/** Of a day that takes two minutes. */
const hours = (count: number): number => (count * 120_000) / 24;
/** What befalls every so many orders of that day, beside the lost deliveries. */
const mishaps = { expires: 10, breaksOff: 20, stopped: 30 };

it.runIf(isLong)(
  'after a whole day without an ingress, polled each ten minutes, all 300 orders are right and the differences named',
  { timeout: 300_000 },
  async () => {
    const everyTenMinutes = String(Math.round(hours(1 / 6)));
    const env = { FARETRAIL_POLL_ACTIVE_MS: everyTenMinutes, FARETRAIL_POLL_PUSHED_MS: everyTenMinutes };
    const long = await startOrderStack({ env });
    onTestFinished(() => long.close());
    const orders: (AnOrder & { mishap: keyof typeof mishaps | 'none' })[] = [];
    const under: Promise<unknown>[] = [];
    for (let n = 0; n < 300; n += 1, await sleep(hours(24) / 300)) {
      const rideHours = 1 + (n % 4);
      const script: [string, number][] = [
        ['Routing', 0],
        ['Confirmed', hours(0.4)],
        ['Driving', hours(0.8)],
        ['Completed', hours(rideHours)],
      ];
      const order = { account: 'business', orderId: long.newOrder('business', script) };
      const kinds = Object.keys(mishaps) as (keyof typeof mishaps)[];
      const mishap =
        n >= 270 ? 'none' : (kinds.find((kind) => n % mishaps[kind] === kinds.indexOf(kind) + 1) ?? 'none');
      orders.push({ ...order, mishap });
      const run = await long.follow('business', order.orderId, mishap === 'expires' ? { followForMs: hours(0.5) } : {});
      if (mishap === 'breaksOff')
        under.push(sleep(hours(0.2)).then(() => orderRunOf(long, order).terminate('by mistake')));
      const reason = { reason: 'twice' };
      if (mishap === 'stopped')
        under.push(sleep(hours(0.2)).then(() => run.executeUpdate('stopFollowing', { args: [reason] })));
    }
    await Promise.all(under);
    const of = (...kinds: string[]) => orders.filter(({ mishap }) => kinds.includes(mishap));
    await isListed(of('breaksOff'), 'Terminated', long);
    await isListed(of('expires', 'stopped'), 'Completed', long);

    const { exitCode, told } = await reconcile([], long);
    const done = (what: string) => told.differences.filter((one) => one.done === what).map(({ orderId }) => orderId);
    expect({ exitCode, checked: told.checked }).toEqual({ exitCode: 0, checked: 300 });
    expect(done('followedAgain').sort()).toEqual(
      of('expires', 'breaksOff')
        .map(({ orderId }) => orderId)
        .sort(),
    );
    expect(done('left').sort()).toEqual(
      of('stopped')
        .map(({ orderId }) => orderId)
        .sort(),
    );
    for (const order of of('expires', 'breaksOff', 'none'))
      expect(await orderRunOf(long, order).result()).toMatchObject({ outcome: 'completed' });
    const left = of('stopped').length;
    const again = (await reconcile([], long)).told;
    expect({ checked: again.checked, differ: again.differences.length }).toEqual({ checked: 300, differ: left });
  },
);

it('what a person stopped, and what was an end, is named with the command that helps, and not touched', async () => {
  const [stopped, ended, partner] = [await followed(), await followed(), stack.newOrder('partner', [['Completed', 0]])];
  await orderRunOf(stack, stopped).executeUpdate('stopFollowing', { args: [{ reason: 'twice' }] });
  set(ended, 'Completed');
  await orderRunOf(stack, ended).executeUpdate('refreshOrder');
  await orderRunOf(stack, ended).result();
  await (await stack.follow('partner', partner)).result();
  await isListed([stopped, ended], 'Completed');
  const before = await reconcile();
  for (const order of [stopped, ended, { account: 'partner', orderId: partner }])
    expect(about(before, order)).toEqual([]);

  set(ended, 'Driving');
  const wrong = await reconcile();
  expect(wrong.exitCode).toBe(1);
  expect(about(wrong, ended)).toEqual(['Completed > Driving: toDo']);
  expect(commandOf(wrong, ended)).toContain(`faretrail erase business ${ended.orderId}`);
  expect(await orderRunOf(stack, ended).result()).toMatchObject({ outcome: 'completed' });
  set(ended, 'Completed');

  set(stopped, 'Driving');
  const left = await reconcile();
  expect(left.exitCode).toBe(0);
  const { stdout } = await run([]);
  expect(stdout).toMatch(/^\d+ orders and rides since .+: \d+ differ, 0 mended, 0 not\.\n/);
  const why = `left: a person stopped it; follow it with: faretrail order follow business ${stopped.orderId} --again`;
  expect(stdout).toContain(`business ${stopped.orderId}: was stopped at Routing, is Driving; ${why}\n`);
  expect(about(left, stopped)).toEqual(['stopped at Routing > Driving: left']);
  expect(commandOf(left, stopped)).toBe(`faretrail order follow business ${stopped.orderId} --again`);
  expect(about(await reconcile(['--again']), stopped)).toEqual(['stopped at Routing > Driving: followedAgain']);
  expect(await trailOf(orderRunOf(stack, stopped))).toMatchObject({ status: 'Driving', outcome: null });

  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), PATH: '' };
  const erased = await runHere(['erase', 'business', ended.orderId, '--yes', '--json'], env);
  const kinds = JSON.parse(erased.stdout).erased.map(({ kind }: { kind: string }) => kind);
  expect(kinds, 'the run, and the reads of this command').toEqual(['order', ...Array(5).fill('read')]);
});

it('what cannot be read is named, and the others are read all the same', async () => {
  const [closed, driving] = [await followed(), await followed()];
  stack.sandbox.setFault({ kind: 'forbidden', orderId: closed.orderId });
  set(driving, 'Driving');
  await isListed([closed, driving], 'Running');
  const result = await reconcile(['--account', 'business']);
  expect(result.exitCode).toBe(1);
  expect(about(result, closed)).toEqual(['Routing > null: unread']);
  expect(commandOf(result, closed)).toContain('forbidden: ');
  expect(about(result, driving)).toEqual(['Routing > Driving: refreshed']);
});

it('a receipt that came after its ride had ended is named', async () => {
  stack.sandbox.setBookingSettings({ script: lifeOf(['Completed']), receiptAfterMs: 3_600_000 });
  const limits = { ...shortLimits, firstReceiptMs: 1_000 };
  const wanting = await requestedRide(stack, { receipt: true }, { limits });
  const other = await requestedRide(stack, {}, { limits });
  const [{ orderId, receipt }] = await Promise.all([wanting.handle.result(), other.handle.result()]);
  expect(receipt).toBeNull();
  const ride = { account: 'business', orderId: orderId ?? '' };
  await isListed([ride], 'Completed');
  expect(about(await reconcile(), ride)).toEqual([]);
  stack.sandbox.setBookingSettings({ receiptAfterMs: 0 });
  const result = await reconcile();
  expect(result.exitCode).toBe(1);
  expect(about(result, ride)).toEqual(['no receipt > a receipt: toDo']);
  expect(commandOf(result, ride)).toBe(`faretrail call business orderReceipt --order ${orderId}`);
  expect(result.told.differences.map((one) => one.orderId)).not.toContain((await other.handle.result()).orderId);
});

it('keeps to the request budget of the account, and ends at Ctrl-C with what it has found', async () => {
  const slow = await startOrderStack({ env: day, requestsPerSecond: 8 });
  try {
    const orders: AnOrder[] = [];
    for (let made = 0; made < 24; made += 1) orders.push(await followed({}, slow));
    for (const order of orders) set(order, 'Driving', slow);
    await isListed(orders, 'Running', slow);
    const interrupted = await reconcile(['--per-second', '4'], slow, {
      onInterrupt(act) {
        setTimeout(act, 1_000);
        return () => undefined;
      },
    });
    expect(interrupted).toMatchObject({ exitCode: 130, told: { state: 'interrupted' } });
    expect(interrupted.told.checked).toBeLessThan(24);
    const from = slow.sandbox.ledger({}).length;
    expect(await reconcile(['--per-second', '1000'], slow)).toMatchObject({ exitCode: 0, told: { checked: 24 } });
    const reads = slow.sandbox
      .ledger({})
      .slice(from)
      .map(({ at }) => Date.parse(at));
    const mostIn = (ms: number) =>
      Math.max(...reads.map((at) => reads.filter((one) => one >= at && one < at + ms).length));
    expect(reads).toHaveLength(24);
    expect(mostIn(1_000)).toBeLessThanOrEqual(2 * 8);
    for (const order of orders) expect(await trailOf(orderRunOf(slow, order))).toMatchObject({ status: 'Driving' });
    await slow.stopWorker();
  } finally {
    await slow.close();
  }
});

it('reads nothing where no worker runs', async () => {
  const gone = await startOrderStack({ env: day });
  await gone.stopWorker();
  const { exitCode, told, stderr } = await reconcile([], {
    ...gone,
    config: { ...gone.config, taskQueue: 'q-nobody' },
  });
  await gone.close();
  expect({ exitCode, told }).toEqual({ exitCode: 1, told: null });
  expect(stderr).toContain('"code":"NoWorker"');
});

it('reads encrypted runs with their key, and says where it is missing', async () => {
  const FARETRAIL_PAYLOAD_KEYS = `p1:${randomBytes(32).toString('base64url')}`;
  const sealed = await startOrderStack({ env: { ...day, FARETRAIL_PAYLOAD_KEYS, FARETRAIL_ENCRYPT_PAYLOADS: 'true' } });
  onTestFinished(() => sealed.close());
  const order = anOrderOf(sealed);
  await sealed.follow('business', order.orderId, { followForMs: 1_000 });
  const ended = sealed.newOrder('business', [['Completed', 0]]);
  await sealed.follow('business', ended);
  await isListed([order, { account: 'business', orderId: ended }], 'Completed', sealed);
  const env = { TEMPORAL_ADDRESS: inject('temporalAddress'), FARETRAIL_TASK_QUEUE: sealed.config.taskQueue };
  const argv = ['reconcile', '--since', '1h', '--json'];
  const without = await runHere(argv, env);
  expect(without.exitCode).toBe(1);
  expect(JSON.parse(without.stdout).differences).toHaveLength(2);
  for (const { done, hint } of JSON.parse(without.stdout).differences)
    expect({ done, hint }).toEqual({
      done: 'unread',
      hint: expect.stringMatching(/^PayloadKeyMissing: .*FARETRAIL_PAYLOAD_KEYS/),
    });
  const told = {
    told: JSON.parse(
      (await runHere(argv, { ...env, FARETRAIL_PAYLOAD_KEYS, FARETRAIL_ENCRYPT_PAYLOADS: 'true' })).stdout,
    ),
  };
  expect(told).toMatchObject({ told: { checked: 2 } });
  expect(about(told, order)).toEqual(['expired at Routing > Routing: followedAgain']);
  expect(about(told, { account: 'business', orderId: ended })).toEqual([]);
});
