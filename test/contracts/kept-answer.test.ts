import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultContractProfile as profile } from '../../src/contracts/default-contract-profile.js';
import { toKeptAnswer, toReceiptAmounts } from '../../src/contracts/kept-answer.js';
import { parseOrderReply } from '../../src/contracts/order-reply.js';
import { type BusinessOperation, businessOperations } from '../../src/domain/call.js';
import { toOrderId } from '../../src/domain/keys.js';
import publishedSettings from '../fixtures/published/business-company-settings.json' with { type: 'json' };
import publishedEstimate from '../fixtures/published/business-price-estimate-response.json' with { type: 'json' };
import publishedProducts from '../fixtures/published/business-products-response.partly-assumed.json' with {
  type: 'json',
};
import publishedReceipt from '../fixtures/published/business-receipt.calculation-inferred.json' with { type: 'json' };
import publishedReport from '../fixtures/published/business-report-page.json' with { type: 'json' };
import { forAny } from '../support/for-any.js';

const orderId = toOrderId('4711');
const productId = '0b9a4c1e-3f52-4d0a-9c61-5a4db0c5a001';

const order = {
  id: 4711,
  status: 'Driving',
  requested_at: '2031-05-01T10:00:00Z',
  scheduled_at: '2031-05-01T12:30:00.123456789+02:00',
  supplier: { code: '77' },
  stops: [{ type: 'origin', progress_status: 'Completed', actions: [{ type: 'pick_up', status: 'Completed' }] }],
};
const product = {
  product_id: productId,
  name: 'Some Cab 4',
  price_concept: 'FIXED',
  edit_future_order_enabled: true,
  edit_before_scheduled_at_min: 30,
  riders: 4,
};
const receipt = {
  payment_summary: { currency_code: 'EUR', total_exc_tax: 20, total_tax: '2.00', total_inc_tax: '22.00' },
  calculation: { driving: 18.5, tolls: 1.5, tips: 0, cancellation: -3.25 },
};
/** Answers of which all is kept. */
const kept: Record<BusinessOperation, unknown> = {
  companySettings: {
    mandatory_destination: true,
    allow_multi_riders: false,
    references: [{ id: 11, title: 'Cost centre', mandatory: true }],
    payment_types: ['monthly_invoice'],
  },
  products: { products: { transportation: [product], delivery: [] } },
  priceEstimate: {
    quote_id: productId,
    currency: '£',
    currency_code: 'GBP',
    price: { value: '48.00', included_tax: true },
  },
  createOrder: { data: { order } },
  orderDetails: order,
  updateOrder: { order },
  cancelOrder: { data: { id: '4711', status: 'Cancelled' } },
  addReferenceCode: {
    has_errors: true,
    data: [{ id: 12, value: 'A1' }],
    errors: [{ index: 1, code: 'ALREADY_EXISTS', field_errors: [{ field: 'value', code: 'ALREADY_EXISTS' }] }],
  },
  orderReceipt: { data: receipt, ...publishedReceipt },
  orderReport: { ...publishedReport, orders: publishedReport.orders.map(({ tariff_area: _, ...rest }) => rest) },
};

const keep = (operation: BusinessOperation, answer: unknown, own = profile) =>
  toKeptAnswer(answer, { call: { operation, orderId, body: [{ value: 'A1' }] }, profile: own });

describe('an answer as it is kept in clear', () => {
  it.each(Object.entries(kept))('has what a caller of %s needs', (operation, answer) => {
    expect(keep(operation as BusinessOperation, answer)).toEqual(answer);
  });

  it('has an order wherever the profile says that one stands, with the status words that only the profile knows', () => {
    const { orderDetails } = profile.pointers;
    const pointers = { orderDetails: { ...orderDetails, status: ['/ride/state'], orderId: ['/ride/no'] } };
    const own = {
      ...profile,
      pointers: { ...profile.pointers, ...pointers },
      statuses: { ...profile.statuses, terminal: ['No Show'], words: { rolling: 'Driving' as const } },
    };
    const ride = { no: '4711', state: 'no_show', scheduled_at: order.scheduled_at };
    expect(keep('orderDetails', { ride: { ...ride, guest: 'G' } }, own)).toEqual({ ride });
    const rolling = { ...ride, state: 'Rolling' };
    expect(keep('orderDetails', { ride: rolling }, own)).toEqual({ ride: rolling });
    expect(keep('orderDetails', { ride })).toEqual({});
    const inText = { ride: JSON.stringify({ ...ride, guest: 'G' }) };
    expect(keep('orderDetails', inText, own), 'inside a text that holds JSON').toEqual({ ride });
    expect(keep('orderDetails', { ride: '{"no":"4711","no":"4711"}' }, own)).toEqual({});
  });

  it.each<[string, BusinessOperation, object]>([
    ['another order id', 'orderDetails', { id: '15550100' }],
    ['an unknown status word', 'orderDetails', { status: 'Boxwell' }],
    ['a code of the supplier that may be a plate', 'orderDetails', { supplier: { code: 'SBX47' } }],
    ['a name of a company', 'companySettings', { name: 'Boxwell', references: [{ name: 'Boxwell' }] }],
    ['a code of a passenger', 'orderDetails', { stops: [{ code: '4711', actions: [{ code: '4711' }] }] }],
    ['a text of the caller that was not sent', 'addReferenceCode', { data: [{ value: 'B2' }] }],
    ['an amount that may be a phone number', 'orderReceipt', { calculation: { tips: 15550100 } }],
    ['an object in place of a text', 'orderDetails', { requested_at: { length: { toString: 1, valueOf: 1 } } }],
    ['an inherited name', 'orderReceipt', { calculation: { constructor: 1, toString: 2 } }],
  ])('lacks %s', (_, operation, answer) => {
    expect(JSON.stringify(keep(operation, answer))).not.toMatch(/\d|:"|\w{12}r"/);
  });

  it.each([
    ['companySettings', publishedSettings],
    ['products', publishedProducts],
    ['priceEstimate', publishedEstimate],
  ] as const)('has the catalogue of the company: %s', (operation, answer) => {
    expect(keep(operation, answer)).toEqual(answer);
  });

  it('has each amount of the published receipt, with its nulls, and the names of the parts of a cost', () => {
    const { calculation } = keep('orderReceipt', publishedReceipt) as typeof publishedReceipt;
    expect(calculation.driving.summary).toEqual({ amount: 40, amount_exc_tax: 40, amount_inc_tax: 48, tax: 8 });
    expect(calculation.tips.summary.amount).toBeNull();
    expect(calculation.cancellation.details).toEqual({ cancelled_before_arrival_fee: 0 });
    const odd = { calculation: { driving: { details: { 'Pat Example': 5, km: 15550100, note: 'Pat', fee: '1.50' } } } };
    expect(keep('orderReceipt', odd)).toEqual({ calculation: { driving: { details: { fee: '1.50' } } } });
  });

  it.each(['+1 555 0100 99', '15550100', 'pat@example.com', 'a\nb', '\u202eevil', 'x'.repeat(81), ' ', 7])(
    'has no title such as %j',
    (title) => {
      expect(keep('companySettings', { references: [{ id: 11, title }] })).toEqual({ references: [{ id: 11 }] });
    },
  );

  it('is null for no answer, and no deeper than what is known', () => {
    expect(keep('cancelOrder', undefined)).toBeNull();
    expect(keep('createOrder', 'text')).toBeNull();
    const deep = JSON.parse(`${'{"data":[{"driver":'.repeat(5_000)}"N"${'}]}'.repeat(5_000)}`);
    expect(keep('orderDetails', { ...deep, stops: [deep] })).toEqual({ data: [{}], stops: [{ data: [{}] }] });
  });

  it('is whole where personal data is kept', () => {
    const answer = { driver: { name: 'N', phone: 'P', vehicle: { license_plate: 'L' } } };
    expect(toKeptAnswer(answer, { call: { operation: 'orderDetails' }, profile, keepsPersonalData: true })).toEqual(
      answer,
    );
  });
});

/** What identifies a person, in texts that nothing else in the answers holds; look-alikes of digits and letters too. */
const persons: readonly unknown[] = [
  ...['Sandy Boxwell', 'Jos\u00e9 Nu\u00f1ez', '\uff21nna Smith', 'Dri\u200bving', 'Completed by Ann', 'B\u043exwell'],
  ...['+1 555 0100 999', '15550100999', '\u0661\u0665\u0665\u0665\u0660\u0661\u0660\u0660', '1555-0100'],
  ...['SBX 4711 SB', 'SBX4711', 'b-ox 77', 'pat@example.com', 'https://images.example/pat.png'],
  ...['7 Example Street', 'ring twice at 9', '2031-05-01T10:00:00Z for Pat', '22.00 to Pat', 'EUR Pat'],
  ...[15550100999, 15550100.5, -15550100],
];
const personal = fc.oneof(
  fc.constantFrom(...persons),
  fc.integer({ min: 10_000_000 }),
  fc.string({ minLength: 2, maxLength: 12 }).map((text) => `Pat ${text}`),
);

/** The answer with another value in place of each of its values, one at a time. */
function* withEach(answer: unknown, other: unknown): Generator<unknown> {
  yield other;
  if (typeof answer !== 'object' || answer === null) return;
  for (const [name, inner] of Object.entries(answer)) {
    for (const changed of withEach(inner, other)) {
      yield Array.isArray(answer) ? answer.with(Number(name), changed) : { ...answer, [name]: changed };
    }
  }
}

const names = [
  ...['driver', 'driver_name', 'drivers', 'passenger', 'user', 'contact', 'phone', 'license_plate', 'note', '\u0456d'],
  ...['id', 'status', 'supplier', 'code', 'stops', 'data', 'order', 'value', 'name', 'type', 'title', 'calculation'],
  ...['payment_summary', 'references', 'products', 'scheduled_at', 'field', 'index', 'currency_code', 'tips', 'riders'],
];
const planted = personal.chain((value) =>
  fc
    .constantFrom<unknown>(value, [value], { name: value }, { [String(value)]: value }, [{ status: [value] }], {
      driver: { phones: [value] },
    })
    .map((body) => ({ value, body })),
);

/** A copy with the planted body in place of one value, or beside the values of one object. */
function withPlanted(answer: unknown, body: unknown, pick: () => number): unknown {
  if (typeof answer !== 'object' || answer === null || pick() % 6 === 0) return body;
  const entries = Object.entries(answer);
  const [name = '', inner] = entries[pick() % Math.max(entries.length, 1)] ?? [];
  if (Array.isArray(answer)) return [withPlanted(inner, body, pick), ...answer];
  if (pick() % 4 === 0) return { ...answer, [names[pick() % names.length] ?? '']: body };
  return { ...answer, [name]: withPlanted(inner, body, pick) };
}

/** Takes numbers from a list, over and over. */
function picker(numbers: readonly number[]): () => number {
  let next = 0;
  return () => numbers[next++ % numbers.length] ?? 0;
}
const picks = fc.array(fc.nat(1_000), { minLength: 3, maxLength: 20 }).map(picker);

const isIn = (value: unknown, result: unknown): boolean =>
  JSON.stringify(result ?? null).includes(
    typeof value === 'string' ? JSON.stringify(value).slice(1, -1) : String(value),
  );

/** The id in a report page is that of an order: `orders/id`. */
const catalogue = ['title', 'name', 'product_name', 'description', 'payment_types'];
const answerOf = (operation: BusinessOperation): unknown =>
  operation === 'orderReport' ? reportWithoutIds(kept[operation]) : kept[operation];
const reportWithoutIds = (page: unknown) =>
  JSON.parse(JSON.stringify(page ?? null, (name, inner) => (name === 'id' ? undefined : inner)));

/** Without the words of a company's catalogue, which are no personal data whatever they say. */
const withoutCatalogue = <Value>(value: Value): Value =>
  value && JSON.parse(JSON.stringify(value, (name, inner) => (catalogue.includes(name) ? undefined : inner)));

describe('what identifies a person, anywhere in an answer', () => {
  it.each(businessOperations)('is not kept in clear at any place that is kept of %s', (operation) => {
    // One word may be the name of a product.
    const isAboutRide = ['createOrder', 'orderDetails', 'updateOrder', 'cancelOrder', 'orderReceipt'].includes(
      operation,
    );
    for (const person of isAboutRide ? [...persons, 'Boxwell', 'PAT_B'] : persons) {
      for (const answer of withEach(withoutCatalogue(answerOf(operation)), person)) {
        expect(isIn(person, keep(operation, answer)), JSON.stringify(answer)).toBe(false);
      }
    }
  });

  it('is not kept in clear of the answer to any call', () => {
    forAny(fc.constantFrom(...businessOperations), planted, picks, (operation, { value, body }, pick) => {
      const result = keep(operation, withPlanted(answerOf(operation), body, pick));
      const shown = operation === 'orderReport' ? reportWithoutIds(result) : result;
      expect(isIn(value, withoutCatalogue(shown))).toBe(false);
    });
  });

  it('is not kept in clear of an order, but for the status word, which stays as it came', () => {
    const { orderDetails } = profile.pointers;
    forAny(planted, picks, ({ value, body }, pick) => {
      const answer = { ...(withPlanted(order, body, pick) as object), id: 4711, status: 'Driving' };
      const { details } = parseOrderReply({ order: answer }, orderDetails, profile.statuses, orderId);
      expect(isIn(value, details)).toBe(false);
    });
  });
});

it.each([
  ['numbers and text', { total_inc_tax: '24.20', total_exc_tax: 22, total_tax: '2.2' }, ['24.20', '22', '2.2']],
  ['nothing', {}, [null, null, null]],
  [
    'what is no amount',
    { total_inc_tax: '+49 30 1234', total_exc_tax: 155_501_000, total_tax: {} },
    [null, null, null],
  ],
])('the amounts of a receipt are read from %s', (_, summary, [total, net, tax]) => {
  const payment_summary = { currency_code: 'EUR', ...summary };
  const amounts = { currency: 'EUR', total, net, tax };
  expect(toReceiptAmounts({ payment_summary })).toEqual(amounts);
  expect(toReceiptAmounts({ data: { payment_summary } })).toEqual(amounts);
});
