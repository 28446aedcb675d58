import { describe, expect, inject, it, vi } from 'vitest';
import { createBrowser, openDesk } from '../../desk/scene.js';
import { patient } from '../../support/patience.js';
import { doubtfulRide, stands } from '../../support/ride/rides.js';
import { useDeskStack } from './desk-stack.js';

const { stack, desk, postgres, receiver, isStored, order, parked, lostNotice } = useDeskStack();

/** Presses a button of a page, and gives what the page says then. */
async function press(page: string, act: string, fields: Record<string, string> = {}, origin = desk.origin) {
  const browser = createBrowser(origin);
  const { status, headers } = await browser.press(page, act.startsWith('/') ? act : `${page}/${act}`, fields);
  expect(status).toBe(303);
  const back = headers.get('location') ?? '';
  const shown = await browser.get(back);
  const [, note = ''] = /<p id="note"[^>]*>([^<]*)</.exec(shown) ?? [];
  expect(await browser.get(back)).not.toContain('id="note"'); // it is said once
  return { note, shown };
}

const rideStored = (requestId: string, shown: object) =>
  vi.waitFor(async () => {
    const [row] = await postgres.rows('select * from faretrail.rides where request_id = $1', [requestId]);
    expect(row).toMatchObject(shown);
  }, patient);

describe('a button of the desk', () => {
  it('reads an order, stops its following and begins it again, each under the name of who pressed it', async () => {
    const { orderId, path } = await order('trip of anna');
    expect((await press(path, 'refresh')).note).toBe('It was read just now: Routing.');
    expect((await press(path, 'stop', { reason: '' })).note).toContain('reason: must be a text');
    expect((await press(path, 'stop', { reason: 'a test' })).note).toBe('The order is no longer followed.');
    await isStored(orderId, { outcome: 'stopped' });
    const { note, shown } = await press(path, 'follow');
    expect(note).toBe('The order is followed again.');
    expect(shown).toContain('<td>start</td><td><bdi>anna</bdi></td>');
    await isStored(orderId, { outcome: null });
    expect((await press(path, 'refresh')).shown).toContain('<td>refreshOrder</td><td><bdi>anna</bdi></td>');
    stack.sandbox.setStatus('business', orderId, 'Completed');
    await isStored(orderId, { outcome: 'completed' });
    const ended = await createBrowser(desk.origin).get(path);
    expect(ended).not.toContain('class="act"');
    expect(desk.logged).toContainEqual({
      ...{ message: 'button', who: 'anna', act: '/orders/:account/:id/stop', account: 'business', id: orderId },
      took: true,
    });
  });

  it('resolves a ride in doubt: made, or given up', async () => {
    const made = await doubtfulRide(stack);
    await rideStored(made.requestId, { attention: 'outcomeUnknown' });
    const path = `/rides/business/${made.requestId}`;
    expect((await press(path, 'resolve', { how: 'sold' })).note).toContain('how: must be');
    expect((await press(path, 'resolve', { how: 'made', orderId: made.orderId })).note).toBe('The ride is resolved.');
    await stands(made.handle, { orderId: made.orderId, attention: null });
    await rideStored(made.requestId, { order_id: made.orderId, attention: null });
    expect((await press(path, 'resolve', { how: 'tryAgain' })).note).toContain('It did not take');
    const lost = await doubtfulRide(stack);
    await rideStored(lost.requestId, { attention: 'outcomeUnknown' });
    const given = await press(`/rides/business/${lost.requestId}`, 'resolve', { how: 'giveUp', reason: 'left' });
    expect(given.note).toBe('The ride is resolved.');
    await made.cancelled();
  });

  it('has the order that the service named in its refusal of another create', async () => {
    const { orderId, requestId, resolve, cancelled } = await doubtfulRide(stack);
    const reply = { status: 409, headers: { location: `/v1/orders/${orderId}` } };
    stack.sandbox.setFault({ kind: 'reply', operation: 'createOrder', times: 1, ...reply });
    await resolve({ tryAgain: true });
    await rideStored(requestId, { attention: 'outcomeUnknown' });
    const path = `/rides/business/${requestId}`;
    const page = await createBrowser(desk.origin).get(path);
    const [, offered = ''] = /name="orderId"[^>]* value="([^"]*)"/.exec(page) ?? [];
    expect(offered).toBe(orderId);
    expect((await press(path, 'resolve', { how: 'made', orderId: offered })).note).toBe('The ride is resolved.');
    await cancelled();
  });

  it('gives a parked delivery to its order, or discards it, once', async () => {
    const { orderId } = await order('another trip');
    const first = await parked();
    const listed = () => createBrowser(desk.origin).get('/parked');
    await expect.poll(listed, { timeout: 180_000 }).toContain(`href="${first}"`);
    expect((await press(first, 'route', { orderId: 'a/b' })).note).toContain('must not hold');
    expect((await press(first, 'route', { orderId })).note).toBe('The order has the delivery.');
    const second = await parked();
    expect((await press(second, 'discard', { reason: 'a test' })).note).toBe('The delivery is discarded.');
    expect((await press(second, 'route', { orderId })).note).toContain('It did not take');
  });

  it('sends a lost notice again', async () => {
    const came = await lostNotice();
    const page = () => createBrowser(desk.origin).get('/notices');
    const row = async () =>
      (await page()).split('<tr>').find((one) => one.includes(new URL(receiver.origin).host)) ?? '';
    await expect.poll(row, { timeout: 180_000 }).toContain('HTTP 400'); // other files lose notices, too
    const [id = '', missedAt = ''] = [...(await row()).matchAll(/name="(?:id|missedAt)" value="([^"]+)"/g)].map(
      ([, value]) => value,
    );
    expect(await row()).toContain('<td><a href="/orders/business/4711"><bdi>4711</bdi></a></td>');
    expect((await press('/notices', '/notices/resend', { id, missedAt })).note).toContain('sent again');
    await expect.poll(came).toEqual([400, 204]);
    expect((await press('/notices', '/notices/resend', { id: 'none', missedAt })).note).toContain('no longer kept');
  });

  it('sends nothing while no worker would do it', async () => {
    const { path } = await order('trip without a worker');
    const lonely = await openDesk(desk.store, { address: inject('temporalAddress'), taskQueue: 'nobody-works-here' });
    const { note } = await press(path, 'refresh', {}, lonely.origin);
    expect(note).toContain('Nothing was sent: no worker polls');
    await lonely.close();
  });
});
