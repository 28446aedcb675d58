import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultContractProfile } from '../../src/contracts/default-contract-profile.js';
import { parseOrderReply } from '../../src/contracts/order-reply.js';
import { UnusableReply } from '../../src/contracts/unusable-reply.js';
import { toOrderId } from '../../src/domain/keys.js';
import assumed from '../fixtures/order-replies.assumed.json' with { type: 'json' };
import { forAny } from '../support/for-any.js';

const { pointers, statuses } = defaultContractProfile;
const asked = toOrderId('4711');
const read = (body: unknown) => parseOrderReply(body, pointers.orderStatus, statuses, asked);
const code = (value: string) => expect.objectContaining({ name: 'UnusableReply', code: value });

describe('the status in an order reply', () => {
  it.each(Object.entries(assumed.sameOrder))('is found in the assumed shape "%s"', (_, body) => {
    expect(read(body)).toEqual({ rawStatus: 'Confirmed', status: 'Confirmed', terminal: false, details: null });
  });

  it('is found where a profile says so', () => {
    const own = { status: ['/ride/state'], orderId: ['/ride/no'] };
    const reading = parseOrderReply({ ride: { state: 'Driving', no: 4711 } }, own, statuses, asked);
    expect(reading.status).toBe('Driving');
  });

  it.each([
    ['care_req', 'CareReq'],
    ['On Ferry', 'On Ferry'],
  ])('comes in our spelling if it is a known word, and raw as it came: %s', (rawStatus, status) => {
    expect(read({ status: rawStatus })).toMatchObject({ rawStatus, status, terminal: false });
  });

  it.each(['Completed', 'COMPLETED', 'canceled', 'Cancelled', 're-jected'])('%s is terminal', (status) => {
    expect(read({ status }).terminal).toBe(true);
  });

  it('is terminal when the profile adds the word', () => {
    const own = { ...statuses, terminal: ['No Show'] };
    expect(parseOrderReply({ status: 'no_show' }, pointers.orderStatus, own, asked).terminal).toBe(true);
    expect(parseOrderReply({ status: 'Completed' }, pointers.orderStatus, own, asked).terminal).toBe(false);
  });

  it("is an end in our spelling when the profile knows the service's own word for it", () => {
    const own = { ...statuses, endWords: { storniert: 'Cancelled' as const } };
    const readWith = (status: string) => parseOrderReply({ status }, pointers.orderStatus, own, asked);
    expect(readWith('STORNIERT')).toMatchObject({ status: 'Cancelled', rawStatus: 'STORNIERT', terminal: true });
    expect(readWith('erledigt')).toMatchObject({ status: 'erledigt', terminal: false });
  });

  it.each(['ok', 'Success', 'ERROR'])('is not the word "%s" at the top, which speaks of the answer', (status) => {
    expect(() => read({ status })).toThrow(code('UNREADABLE_STATUS'));
    expect(read({ order: { status } }).rawStatus).toBe(status);
  });

  it('is the next usable one when an earlier place holds nothing usable', () => {
    expect(read({ order: { status: '' }, data: { status: 7 }, order_status: 'Waiting' }).status).toBe('Waiting');
  });

  const without = [undefined, null, [], 'Confirmed', {}, { status: '' }, { status: ' ' }, { status: 'x'.repeat(101) }];
  it.each(without)('is not in %j', (body) => {
    expect(() => read(body)).toThrow(code('UNREADABLE_STATUS'));
  });
});

describe('the order id in an order reply', () => {
  const others = [{ order_id: '4712' }, { order_id: 4712 }, { order: { id: '04711' } }, { data: { id: '4711 ' } }];
  it.each(others)('makes the reply unusable when it is another one: %j', (body) => {
    expect(() => read({ order_status: 'Completed', ...body })).toThrow(code('ORDER_MISMATCH'));
  });

  it.each([null, '', 4711.5, 2 ** 53, {}])('is passed over when it is unusable: %j', (order_id) => {
    expect(read({ order_id, id: '4711', status: 'Driving' }).status).toBe('Driving');
  });
});

const at = (hour: number) => `2031-05-01T0${hour}:00:00Z`;

describe('the details in an order reply', () => {
  it('are times and the code of the supplier, and nothing of the driver', () => {
    const { details } = read(assumed.details);
    expect(details).toEqual({
      requestedAt: '2031-05-01T10:00:00Z',
      scheduledAt: '2031-05-01T10:30:00Z',
      willArriveAtPickup: '2031-05-01T10:29:00Z',
      pickedUpAt: '2031-05-01T10:33:00Z',
      supplier: { code: '77' },
    });
    expect(JSON.stringify(details)).not.toMatch(/Private|15550100|png|Sedan/);
  });

  it('hold the driver and the car where personal data is kept, until the order has ended', () => {
    const vehicle = { model: 'Sedan', license_plate: 'L' };
    const driver = { name: 'N', phone: 'P', image_url: 'U', rating: 5, vehicle };
    const supplier = { name: 'City Cabs', driver };
    const details = (status: string) =>
      parseOrderReply({ status, supplier }, pointers.orderStatus, statuses, asked, { keepsPersonalData: true }).details;
    expect(details('Driving')).toEqual({
      supplier: { name: 'City Cabs' },
      driver: { name: 'N', phone: 'P', imageUrl: 'U' },
      vehicle: { model: 'Sedan', licensePlate: 'L' },
    });
    expect(details('Completed')).toEqual({ supplier: { name: 'City Cabs' } });
    expect(read({ status: 'Driving', supplier }).details).toBeNull();
  });

  it('are taken from the object that holds the status', () => {
    const body = { order: { status: 'Driving', requested_at: at(1) }, requested_at: at(2) };
    expect(read(body).details).toEqual({ requestedAt: at(1) });
  });

  it('leave out what is no usable text', () => {
    const unusable = { requested_at: 5, scheduled_at: 'x'.repeat(201), supplier: { name: {}, code: '' } };
    expect(read({ status: 'Driving', ...unusable }).details).toBeNull();
  });
});

describe('any JSON as an order reply', () => {
  const maybe = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>('4711', 4711, 'Driving', 'Completed', 'ok'));
  const order = fc.record(
    { id: maybe, order_id: maybe, status: maybe, order_status: maybe, supplier: maybe, requested_at: maybe },
    { requiredKeys: [] },
  );
  const reply = fc.oneof(
    fc.jsonValue(),
    order,
    fc.record({ order }),
    fc.record({ data: fc.oneof(order, fc.record({ order })) }),
  );

  it('gives a bounded reading or one of the two coded errors', () => {
    forAny(reply, (body) => {
      try {
        const reading = read(body);
        expect(reading.rawStatus.length).toBeLessThanOrEqual(100);
        expect(JSON.stringify(reading).length).toBeLessThan(4000);
      } catch (error) {
        expect(error).toBeInstanceOf(UnusableReply);
        expect(['UNREADABLE_STATUS', 'ORDER_MISMATCH']).toContain((error as UnusableReply).code);
      }
    });
  });
});
