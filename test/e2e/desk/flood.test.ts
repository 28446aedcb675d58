import { randomBytes } from 'node:crypto';
import pMap from 'p-map';
import { expect, it, vi } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { findRunsInNeed } from '../../../src/temporal/attention.js';
import { createBrowser } from '../../desk/scene.js';
import { portOf } from '../../support/delivery/deliveries.js';
import { patient } from '../../support/patience.js';
import { useDeskStack } from './desk-stack.js';

const { stack, desk, order } = useDeskStack();
/** Other files park deliveries of other accounts in the same namespace. */
const account = toAccountName('flooded');
const flood = 300;

const park = (eventType: 'status_changed' | 'business_report') =>
  portOf(stack).park({
    ...{ account, deliveryId: randomBytes(16).toString('hex'), eventType, reason: 'noOrderId' },
    ...{ receivedAt: new Date().toISOString(), sealed: 'eyJhbGciOiJkaXIifQ..c2VhbGVk.b2Y.dGhl' },
  });

it('300 parked deliveries hide none of 26 orders in need, and are discarded by one button', async () => {
  const orders = await pMap(Array.from({ length: 26 }), async () => await order('flooded', 'CareReq'), {
    concurrency: 4,
  });
  await park('business_report');
  await pMap(Array.from({ length: flood }), () => park('status_changed'), { concurrency: 20 });
  const browser = createBrowser(desk.origin);

  await vi.waitFor(async () => {
    const page = await browser.get('/');
    for (const { path } of orders) expect(page).toContain(`href="${path}"`);
    const [, parked = ''] = /<a href="\/parked">(\d+) parked deliveries<\/a>/.exec(page) ?? [];
    expect(Number(parked)).toBeGreaterThan(flood);
    expect(page).not.toContain('href="/parked/flooded/');
  }, patient);

  const inTime = <T>(act: () => Promise<T>): Promise<T> => act();
  const looking = { client: stack.client, config: { taskQueue: stack.config.taskQueue }, inTime };
  const { rows, hasMore, totals } = await findRunsInNeed(looking, { limit: 100 });
  const listed = rows.map(({ kind, id }) => `${kind} ${id}`);
  expect(listed).toEqual(expect.arrayContaining(orders.map(({ orderId }) => `order ${orderId}`)));
  expect([hasMore, totals.parked > flood]).toEqual([true, true]);

  const group = (count: number, eventType: string) => `<h2>${count} of ${eventType} <small>${account}</small></h2>`;
  await vi.waitFor(async () => expect(await browser.get('/parked')).toContain(group(flood, 'status_changed')), patient);
  await vi.waitFor(async () => {
    const fields = { account, eventType: 'status_changed', reason: 'a flood' };
    expect((await browser.press('/parked', '/parked/discard', fields)).status).toBe(303);
    const page = await browser.get('/parked');
    expect(page).toContain('deliveries are discarded');
    expect(page).not.toContain(`of status_changed <small>${account}`);
    expect(page).toContain(group(1, 'business_report'));
  }, patient);
  const line = desk.logged.find((one) => 'act' in one);
  expect(line).toMatchObject({ who: 'anna', act: '/parked/discard', account });
});
