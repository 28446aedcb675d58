import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { defaultBookingSettings } from '../../sandbox/booking-settings.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { businessCall, type CallChange, inMs, newDelivery, newRide, stop } from './booking-calls.js';
import { codeOf, newToken, quietOrder, readBusinessOrder } from './calls.js';

const hour = 3_600_000;
let sandbox: Sandbox;
let token: string;
beforeAll(async () => {
  sandbox = await startSandbox({ speed: 60 });
  token = await newToken(sandbox, 'business');
});
afterEach(() => void sandbox.setBookingSettings(defaultBookingSettings));
afterAll(() => sandbox.close());

const create = (body: unknown = newRide(), change: CallChange = {}) =>
  businessCall(sandbox, 'POST', '/v1/orders', body, { token, ...change });
const update = (orderId: string, body: unknown) =>
  businessCall(sandbox, 'PATCH', `/v1/orders/${orderId}`, body, { token });
const cancel = (orderId: string) => businessCall(sandbox, 'POST', `/v1/orders/${orderId}/cancel`, undefined, { token });
const created = async (body?: unknown) => ((await create(body)).json as { id: string }).id;
const details = async (orderId: string) => (await readBusinessOrder(sandbox, orderId, token)).json;

describe('an order that is created', () => {
  it('has an id, can be read under it, and lives', async () => {
    const seen = await create();
    expect(seen).toMatchObject({ status: 201, json: { id: expect.stringMatching(/^\d{14}$/) } });
    const { id } = seen.json as { id: string };
    expect(await details(id)).toMatchObject({ id, status: 'Pending' });
    expect(sandbox.advance('business', id)).toBe('Routing');
    expect(sandbox.advance('business', id)).toBe('Confirmed');
  });

  it('has an id that is a number when the sandbox is told so', async () => {
    sandbox.setBookingSettings({ idsAreNumbers: true });
    const { json } = await create();
    expect(json).toEqual({ id: expect.any(Number) });
    expect(await details(String((json as { id: number }).id))).toMatchObject({ status: 'Pending' });
  });

  it('is reserved first when it is scheduled, and keeps its pick-up time whatever the speed', async () => {
    const scheduledAt = inMs(2 * hour);
    const id = await created(newRide({ scheduled_at: scheduledAt }));
    expect(await details(id)).toMatchObject({ status: 'Reserved', scheduled_at: scheduledAt });
    expect(sandbox.advance('business', id)).toBe('Routing');
  });

  it('goes through its whole life by itself', async () => {
    const fast = await startSandbox({ speed: 10_000 });
    const fastToken = await newToken(fast, 'business');
    const ride = newRide({ scheduled_at: inMs(1_500) });
    const { json } = await businessCall(fast, 'POST', '/v1/orders', ride, { token: fastToken });
    const { id } = json as { id: string };
    const status = async () => ((await readBusinessOrder(fast, id, fastToken)).json as { status: string }).status;
    expect(await status()).toBe('Reserved');
    await expect.poll(status).toBe('Completed');
    await fast.close();
  });

  it('follows the script that the sandbox was given', async () => {
    sandbox.setBookingSettings({ script: [{ status: 'Rejected', afterMs: 0 }] });
    expect(await details(await created())).toMatchObject({ status: 'Rejected' });
  });

  it('can be a delivery, with coordinates as text', async () => {
    const location = { lat: '52.5', lng: '-13.4' };
    const stops = [
      stop('origin', 'pick_up', location, { parcel: { name: 'A box' } }),
      stop('destination', 'drop_off', location, { parcel: { name: 'A box' } }),
    ];
    expect((await create(newDelivery({ stops }))).status).toBe(201);
  });

  it('stands in the ledger with its id and its request id, and in the list of created orders with its body', async () => {
    const ride = newRide({ note_to_driver: 'at the gate', of_later_versions: { kept: true } });
    const { json } = await create(ride, { requestId: 'r-ledger' });
    const { id } = json as { id: string };
    expect(sandbox.ledger({ orderId: id })).toMatchObject([
      { operation: 'createOrder', requestId: 'r-ledger', scope: 'order', tokenNumber: 1, httpStatus: 201 },
    ]);
    expect(sandbox.createdOrders().at(-1)).toEqual({
      orderId: id,
      requestId: 'r-ledger',
      createdAt: expect.any(String),
      order: ride,
    });
  });
});

describe('the same X-Request-ID again', () => {
  const count = () => sandbox.createdOrders().length;

  it('gives the same order for the same body, and makes none', async () => {
    const first = await create(newRide(), { requestId: 'r-1' });
    const before = count();
    const second = await create(newRide(), { requestId: 'r-1' });
    expect(second).toMatchObject({ status: 200, json: first.json as object });
    expect(count()).toBe(before);
  });

  it('is a conflict with another body', async () => {
    await create(newRide(), { requestId: 'r-2' });
    const seen = await create(newRide({ note_to_driver: 'other' }), { requestId: 'r-2' });
    expect([seen.status, codeOf(seen)]).toEqual([409, 'REQUEST_ID_REUSED']);
  });

  it('books twice when the service forgets it', async () => {
    sandbox.setBookingSettings({ forgetsRequestIds: true });
    const before = count();
    await create(newRide(), { requestId: 'r-3' });
    await create(newRide(), { requestId: 'r-3' });
    expect(count()).toBe(before + 2);
  });

  it('is free again after a refused create; without one each create makes an order', async () => {
    expect((await create(newRide({ stops: [] }), { requestId: 'r-4' })).status).toBe(400);
    expect((await create(newRide(), { requestId: 'r-4' })).status).toBe(201);
    expect(await created()).not.toBe(await created());
  });
});

describe('a scheduled order that is changed', () => {
  it('has the new time, note and stops, and lives by the new time', async () => {
    const id = await created(newRide({ scheduled_at: inMs(2 * hour) }));
    const scheduledAt = inMs(3 * hour);
    const stops = [stop('origin', 'pick_up', { lat: 1, lng: 2 })];
    expect(await update(id, { scheduled_at: scheduledAt, note_to_driver: 'new', stops })).toMatchObject({
      status: 200,
      json: { id },
    });
    expect(await details(id)).toMatchObject({ status: 'Reserved', scheduled_at: scheduledAt });
    const order = sandbox.createdOrders().find(({ orderId }) => orderId === id)?.order;
    expect(order).toMatchObject({ note_to_driver: 'new', stops, scheduled_at: scheduledAt });
    expect(sandbox.advance('business', id)).toBe('Routing');
  });

  it('is picked up at the new time', async () => {
    const fast = await startSandbox({ speed: 10_000 });
    const fastToken = await newToken(fast, 'business');
    const ask = (method: string, path: string, body: unknown) =>
      businessCall(fast, method, `/v1/orders${path}`, body, { token: fastToken });
    const { json } = await ask('POST', '', newRide({ scheduled_at: inMs(60_000) }));
    const { id } = json as { id: string };
    await ask('PATCH', `/${id}`, { scheduled_at: inMs(1_500) });
    const status = async () => ((await readBusinessOrder(fast, id, fastToken)).json as { status: string }).status;
    await expect.poll(status).toBe('Completed');
    await fast.close();
  });

  it('may be one that no call created', async () => {
    sandbox.addOrder({ ...quietOrder('business', 'b-1'), scheduledAt: inMs(hour) });
    sandbox.setStatus('business', 'b-1', 'Reserved');
    const scheduledAt = inMs(2 * hour);
    expect((await update('b-1', { scheduled_at: scheduledAt })).status).toBe(200);
    expect(await details('b-1')).toMatchObject({ scheduled_at: scheduledAt });
    expect((await update('b-1', { scheduled_at: inMs(-hour) })).status).toBe(422);
  });
});

describe('an order that is cancelled', () => {
  it('is answered with 204 without a body and reads Cancelled', async () => {
    const id = await created();
    expect(await cancel(id)).toMatchObject({ status: 204, text: '' });
    expect(await details(id)).toMatchObject({ status: 'Cancelled' });
    expect(sandbox.ledger({ orderId: id, operation: 'cancelOrder' })).toMatchObject([{ httpStatus: 204 }]);
  });

  it('may read Cancelled only some time after the answer, and takes no other way meanwhile', async () => {
    sandbox.setBookingSettings({ cancelTakesMs: 60_000 }); // a second at this speed
    const id = await created();
    expect((await cancel(id)).status).toBe(204);
    expect(await details(id)).toMatchObject({ status: 'Pending' });
    await expect.poll(() => details(id)).toMatchObject({ status: 'Cancelled' });
  });

  it.each(['Driving', 'Completed', 'Cancelled', 'Rejected', 'ActiveOrder', 'DriverSwapped'])(
    'is refused while it is %s',
    async (status) => {
      const id = await created();
      sandbox.setStatus('business', id, status);
      const seen = await cancel(id);
      expect([seen.status, codeOf(seen)]).toEqual([422, 'ORDER_NOT_CANCELLABLE']);
      expect(await details(id)).toMatchObject({ status });
    },
  );
});
