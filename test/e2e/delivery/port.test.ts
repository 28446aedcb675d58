import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { DeliveryNotice } from '../../../src/domain/delivery.js';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import type { ParkedDeliveryInput } from '../../../src/domain/parked.js';
import { companyReportId, followOrderId, parkedDeliveryId, subscriptionId } from '../../../src/domain/workflow-ids.js';
import { createDeliveryPort } from '../../../src/temporal/deliveries.js';
import { orderStart } from '../../../src/temporal/starts.js';
import { rideStatusKey } from '../../../src/workflows/search-attributes.js';
import { newDelivery, withWays } from '../../support/delivery/deliveries.js';
import { inputOf, signalsTo } from '../../support/runs.js';
import { useTemporal } from '../../support/worker/runtime.js';

// No worker polls this queue: nothing here needs one.
const taskQueue = `deliveries-${randomUUID()}`;
const following = toAccountName('following');
const ignoring = toAccountName('ignoring');
const temporal = useTemporal();
let port: ReturnType<typeof withWays>;

beforeAll(() => {
  const untracked = (account: string) => (account === ignoring ? 'ignore' : 'follow');
  port = withWays(createDeliveryPort({ client: temporal.client, taskQueue, untracked }));
});

const anOrder = (account = following) => ({ account, orderId: toOrderId(randomUUID()) });
const notice = () => newDelivery({ status: 'Driving' });
function aParked(account = following): ParkedDeliveryInput {
  const { deliveryId, receivedAt } = notice();
  return { account, eventType: 'status_changed', reason: 'noOrderId', deliveryId, receivedAt, sealed: 'e30' };
}
const handleOf = (workflowId: string) => temporal.client.workflow.getHandle(workflowId);
const follow = (key: ReturnType<typeof anOrder>) =>
  temporal.client.workflow.start('followOrder', orderStart(key, taskQueue));
/** The arguments of each signal that the run got. */
const signalsOf = (workflowId: string) => signalsTo<{ deliveries: DeliveryNotice[] }>(handleOf(workflowId));
const firstInputOf = async (workflowId: string) => (await inputOf(handleOf(workflowId)))[0];

describe('deliveries about an order', () => {
  it('start a run when none follows the order, and are one signal to it after that', async () => {
    const key = anOrder();
    const [first, ...others] = [notice(), notice(), notice()];
    expect(await port.signal(followOrderId(key), [first])).toBe(false);
    await expect(handleOf(followOrderId(key)).describe(), 'a signal alone starts none').rejects.toThrow();
    expect(await port.toOrder(key, [first])).toBe('started');
    expect(await firstInputOf(followOrderId(key))).toEqual(key);
    expect([await port.toOrder(key, others), await port.signal(followOrderId(key), others)]).toEqual([
      'signalled',
      true,
    ]);
    expect(await signalsOf(followOrderId(key))).toEqual(
      [first ? [first] : [], others, others].map((deliveries) => ({ deliveries })),
    );
  });

  it('start none where the account says so', async () => {
    const key = anOrder(ignoring);
    expect(await port.toOrder(key, [notice()])).toBe('ignored');
    await expect(handleOf(followOrderId(key)).describe()).rejects.toThrow();
    await follow(key);
    expect(await port.toOrder(key, [notice()])).toBe('signalled');
  });

  it('keep the place of a new order until its run has read it or has ended', async () => {
    const [unread, read] = [anOrder(), anOrder()];
    await follow(unread);
    await temporal.client.workflow.start('followOrder', {
      ...orderStart(read, taskQueue),
      typedSearchAttributes: [{ key: rideStatusKey, value: 'Driving' }],
    });
    const isSettled = (key: ReturnType<typeof anOrder>) => port.isSettled(followOrderId(key));
    expect([await isSettled(unread), await isSettled(read)]).toEqual([false, true]);
    await handleOf(followOrderId(unread)).terminate();
    expect([await isSettled(unread), await isSettled(anOrder())]).toEqual([true, true]);
  });
});

describe('a report about an order', () => {
  it('is about a known one where a run follows the order or did', async () => {
    const { account, orderId } = anOrder();
    const isKnown = () => port.isKnown({ account, orderId });
    expect(await isKnown()).toBe(false);
    await follow({ account, orderId });
    expect(await isKnown()).toBe(true);
    await handleOf(followOrderId({ account, orderId })).terminate();
    expect(await isKnown()).toBe(true);
  });

  it('keeps its place until its run has nothing to read, for ten minutes, or has ended', async () => {
    const { account, orderId } = anOrder();
    const id = companyReportId({ account, about: orderId });
    expect(await port.signal(id, [notice()])).toBe(false);
    await port.toReport({ account, about: orderId }, [notice()]);
    expect([await port.signal(id, [notice()]), await port.isSettled(id)]).toEqual([true, false]);
    const later = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 601_000);
    expect(await port.isSettled(id), 'after ten minutes').toBe(true);
    later.mockRestore();
    expect(await signalsOf(id)).toHaveLength(2);
    await handleOf(id).terminate();
    expect(await port.isSettled(id)).toBe(true);
  });
});

it('a company report is started by its first delivery, and again after it has ended', async () => {
  const { account, orderId } = anOrder();
  const key = { account, about: orderId };
  for (let sent = 0; sent < 2; sent += 1) await port.toReport(key, [notice()]);
  expect(await signalsOf(companyReportId(key))).toHaveLength(2);
  expect(await firstInputOf(companyReportId(key))).toEqual({ account, orderId });
  await handleOf(companyReportId(key)).terminate();
  await port.toReport(key, [notice()]);
  expect((await handleOf(companyReportId(key)).describe()).status.name).toBe('RUNNING');
  const delivery = notice();
  const alone = { account: following, about: toOrderId(delivery.deliveryId) };
  await port.toReport(alone, [delivery]);
  expect(await firstInputOf(companyReportId(alone)), 'without an order it has no order id').toEqual({
    account: following,
  });
});

it('a parked delivery is kept once, however often the ingress parks it', async () => {
  const parked = aParked();
  await port.park(parked);
  await port.park({ ...parked, sealed: 'another' });
  expect(await firstInputOf(parkedDeliveryId(parked))).toEqual(parked);
  await handleOf(parkedDeliveryId(parked)).terminate();
  await port.park(parked);
  expect((await handleOf(parkedDeliveryId(parked)).describe()).status.name).toBe('TERMINATED');
});

it('parked deliveries of an account are counted as long as they wait', async () => {
  const account = toAccountName(`count-${randomUUID().slice(0, 8)}`);
  const counted = () => port.countParked(account);
  expect(await counted()).toBe(0);
  const first = aParked(account);
  for (const one of [first, aParked(account), aParked(toAccountName(`${account}x`))]) await port.park(one);
  await expect.poll(counted).toBe(2);
  await handleOf(parkedDeliveryId(first)).terminate();
  await expect.poll(counted).toBe(1);
});

it('a subscription is read from its memo, as empty once it has ended, and as null where there was none', async () => {
  const key = { account: toAccountName(randomUUID()), eventType: 'status_changed' } as const;
  expect(await port.readSubscription(key)).toBeNull();
  const subscription = { accepted: [{ generation: 'g1', until: null, secrets: [], isSecretLost: true }] };
  await temporal.client.workflow.start('subscription', {
    workflowId: subscriptionId(key),
    taskQueue,
    memo: { subscription },
  });
  expect(await port.readSubscription(key)).toEqual(subscription);
  await handleOf(subscriptionId(key)).terminate();
  expect(await port.readSubscription(key)).toEqual({ accepted: [] });
});
