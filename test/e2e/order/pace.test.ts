import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { shows, useOrderStack } from '../../support/order/stack.js';

const requestsPerSecond = 4;
const stack = useOrderStack({ requestsPerSecond, env: { FARETRAIL_POLL_ACTIVE_MS: '300' } });

it('polls get nine tenths of the budget of an account where nothing announces orders', {
  timeout: 120_000,
}, async () => {
  const orders = await Promise.all(
    Array.from({ length: 6 }, () => stack.follow('business', stack.newOrder('business', [['Driving', 0]]))),
  );
  await Promise.all(orders.map((order) => shows(order, { status: 'Driving' })));
  await sleep(2_000); // what had been saved up is spent
  const reads = () => stack.sandbox.ledger({ operation: 'orderDetails' }).length;
  const [before, seconds] = [reads(), 15];
  await sleep(seconds * 1_000);
  const share = (reads() - before) / (seconds * requestsPerSecond);
  expect(share).toBeGreaterThan(0.8);
  expect(share).toBeLessThan(1);
  await Promise.all(orders.map((order) => order.terminate()));
});
