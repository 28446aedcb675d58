import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isJsonObject } from '../../../src/contracts/json.js';
import type { BusinessOperation, ServiceCall } from '../../../src/domain/call.js';
import { published } from '../../fixtures/published.js';
import { businessAccount, partnerAccount } from '../accounts.js';
import { business, type Call, estimate, orderId, readOrder, receipt, service, subscriber, tokenOf } from './calls.js';
import { changed, fieldsOf } from './fields.js';
import { type Answer, answers, notAsked } from './samples.js';

// The samples of deliveries go through the ingress in test/webhooks/published-deliveries.test.ts.

const bodyOf = ({ sample, more }: Pick<Answer, 'sample' | 'more'>): unknown => ({
  ...(published(sample) as object),
  ...more,
});

/** A copy without the objects that hold nothing. */
const withoutEmpty = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body), (_, inner) =>
    isJsonObject(inner) && Object.keys(inner).length === 0 ? undefined : inner,
  );

const nameOf = ({ sample, call, status = 200 }: Answer): string =>
  `${sample} (${'operation' in call ? 'for a caller' : 'for a run'}, HTTP ${status})`;

const company = 'businessId=11111111-2222-4333-8444-555555555555';
const field = '16fa8c2d-4ba2-4f53-8a30-ecd4a1b2c3d4';

/** The published requests, with the call that sends each and its first line. */
const requests: Record<string, [BusinessOperation, Partial<ServiceCall>, string]> = {
  'business-create-order-request': ['createOrder', {}, `POST /v1/orders?${company}`],
  'business-update-order-request': ['updateOrder', { orderId }, `PATCH /v1/orders/${orderId}?${company}`],
  'business-price-estimate-request': ['priceEstimate', {}, `POST /v1/price-estimate?${company}`],
  'business-products-request': ['products', {}, `POST /v1/products?${company}`],
  'business-reference-codes-request': [
    ...(['addReferenceCode', { referenceFieldId: field }] as const),
    `POST /v1/reference-fields/${field}/codes?${company}`,
  ],
};

describe('of the published answers', () => {
  it('the table names each field', () => {
    for (const answer of answers) {
      const { found, encryptedOnly = {}, notUsed = {} } = answer;
      const named = [found, encryptedOnly, notUsed].flatMap((rows) => Object.keys(rows)).sort();
      expect(named, nameOf(answer)).toEqual(fieldsOf(bodyOf(answer)).sort());
    }
  });

  it('none is left out, and none of the requests', () => {
    const files = readdirSync(new URL('../../fixtures/published', import.meta.url));
    const names = files.map((file) => file.replace(/\.json$/, '')).filter((name) => !name.startsWith('delivery-'));
    const tabled = [...answers.map(({ sample }) => sample), ...Object.keys(notAsked), ...Object.keys(requests)];
    expect([...new Set(tabled)].sort()).toEqual(names.sort());
  });

  it.each(answers.map((answer) => [nameOf(answer), answer] as const))(
    'each field of %s is used as the table says: the result changes without it or with another value',
    async (_, answer) => {
      const { gives } = await service();
      const { call, status = 200, found, encryptedOnly = {} } = answer;
      const body = bodyOf(answer);
      const makesADifference = async (name: string, payloads: 'clear' | 'encrypted'): Promise<boolean> => {
        const bodies = [body, changed(body, name, 'absent'), changed(body, name, 'another')];
        const given: string[] = [];
        for (const one of bodies) given.push(JSON.stringify(await gives(call, one, { status, payloads })));
        return new Set(given).size > 1;
      };
      for (const name of fieldsOf(body)) {
        const isFound = { clear: name in found, encrypted: name in found || name in encryptedOnly };
        const differs = {
          clear: await makesADifference(name, 'clear'),
          encrypted: await makesADifference(name, 'encrypted'),
        };
        expect([name, differs]).toEqual([name, isFound]);
      }
    },
  );

  it.each(answers.filter(({ call }) => 'operation' in call).map((answer) => [nameOf(answer), answer] as const))(
    'callers get %s unchanged: whole where payloads are encrypted, else without what the table names',
    async (_, answer) => {
      if (answer.sample.startsWith('error-')) return; // a failure
      const { gives } = await service();
      const { call, status = 200, encryptedOnly = {} } = answer;
      const body = bodyOf(answer);
      expect(await gives(call, body, { status, payloads: 'encrypted' })).toMatchObject({ status, body });
      const inClear = Object.keys(encryptedOnly).reduce((rest, name) => changed(rest, name, 'absent'), body);
      const kept = (await gives(call, body, { status })) as { body: unknown };
      expect(kept.body).toEqual(withoutEmpty(inClear));
    },
  );
});

const rideTimes = {
  requestedAt: '2026-03-02T08:15:00Z',
  scheduledAt: '2026-03-02T08:15:00Z',
  willArriveAtPickup: '2026-03-02T08:24:00Z',
};
const confirmed = { rawStatus: 'Confirmed', status: 'Confirmed', terminal: false };
const scoped = ['token-business-scoped', tokenOf('business', 'order finance')] as const;
const details = ['business-order-details.partly-assumed', readOrder(businessAccount)] as const;

it.each<[string, Call, object, ('clear' | 'encrypted')?]>([
  [
    'token-partner',
    tokenOf('partner', 'demand_partner'),
    { accessToken: 'aaaa.bbbb.cccc', differences: [], lifetimeMs: 3_600_000 },
  ],
  [...scoped, { accessToken: 'aaaa.bbbb.cccc', differences: [], lifetimeMs: 899_000 }],
  [
    'token-business-unscoped',
    tokenOf('business', ''),
    { accessToken: 'aaaa.bbbb.cccc', differences: [], lifetimeMs: 899_000 },
  ],
  [...details, { ...confirmed, details: { ...rideTimes, supplier: { code: '1234' } } }],
  [
    ...details,
    {
      ...confirmed,
      details: {
        ...rideTimes,
        supplier: { name: 'Some Cabs', code: '1234' },
        driver: { name: 'Dana', phone: '447000000009', imageUrl: 'https://images.example/d.png', rating: '4.9' },
        vehicle: { model: 'Some Model' },
      },
    },
    'encrypted',
  ],
  [
    ...(['partner-order.client-code', readOrder(partnerAccount)] as const),
    { rawStatus: 'Waiting', status: 'Waiting', terminal: false, details: { scheduledAt: rideTimes.scheduledAt } },
  ],
  [
    ...(['business-price-estimate-response', estimate] as const),
    { quoteId: '7f8e9d0c-7777-4b1a-8c2d-3e4f5a6b7c8d', price: '48.00', currency: 'GBP' },
  ],
  [
    ...(['business-receipt.calculation-inferred', receipt] as const),
    published('business-receipt.calculation-inferred') as object,
  ],
  [
    ...(['subscriber-created', subscriber] as const),
    {
      id: 'e3982c0f-5555-4a1b-8c2d-b3d798e89fcb',
      secretId: '5b0f6a52-7c1d-4e52-9a55-3f1f6f0a1c11',
      deliveryAddress: 'https://receiver.example/hook',
      createdAt: '2026-03-01T16:33:48.518547841Z',
      updatedAt: '2026-03-01T16:33:48.518547841Z',
    },
  ],
])('%s is read as the run gets it (%#)', async (sample, call, result, payloads = 'clear') => {
  const { gives } = await service();
  expect(await gives(call, published(sample), { payloads })).toEqual(result);
});

describe('the published requests', () => {
  it.each(Object.entries(requests))('%s goes out as it stands', async (sample, [operation, about, line]) => {
    const { gives, sent } = await service();
    const body = published(sample);
    await gives(business(operation, { ...about, body }), { id: 1 });
    const { headers, ...request } = sent() ?? {};
    expect(request).toEqual({ request: line, body });
    expect(headers?.['x-request-id']).toBe(operation === 'createOrder' ? 'call/x' : undefined);
  });

  it('a cancel has no body and is answered with 204; a page of reports is requested by period and offset', async () => {
    const { gives, sent } = await service();
    expect(await gives(business('cancelOrder', { orderId }), '', { status: 204 })).toMatchObject({ status: 204 });
    expect(sent()).toMatchObject({ request: `POST /v1/orders/${orderId}/cancel?${company}`, body: '' });
    const period = { since: '2026-03-01T00:00:00Z', to: '2026-04-01T00:00:00Z' };
    await gives(business('orderReport', { body: period }), {});
    const { request = '' } = sent() ?? {};
    const query = new URL(request.replace('GET ', ''), 'http://service.example').searchParams;
    expect(Object.fromEntries(query)).toMatchObject({ ...period, limit: '50', offset: '0' });
  });

  it('a token is asked for as a form, without a scope where none is needed', async () => {
    const { gives, sent } = await service();
    const grant = { client_id: 'client-1', grant_type: 'client_credentials' };
    const cases = [
      ['partner', 'demand_partner', '/v1/oauth/token'],
      ['business', 'finance order', '/oauth/token'],
      ['business', '', '/oauth/token'],
    ] as const;
    for (const [account, scope, path] of cases) {
      await gives(tokenOf(account, scope), published('token-business-unscoped'));
      expect(sent()).toMatchObject({ request: `POST ${path}` });
      const { client_secret: _, ...form } = Object.fromEntries(new URLSearchParams(String(sent()?.body)));
      expect(form).toEqual(scope === '' ? grant : { ...grant, scope });
    }
  });
});

describe('the published statuses', () => {
  const open = 'Pending Reserved Unreserved Routing Confirmed Waiting Driving CareReq ActiveOrder'.split(' ');
  const ends = ['Completed', 'Cancelled', 'Rejected'];
  it.each([...open, ...ends])('%s is known at both interfaces, in title case and in lower case', async (status) => {
    const { gives } = await service();
    for (const rawStatus of [status, status.toLowerCase()]) {
      const known = { rawStatus, status, terminal: ends.includes(status) };
      expect(await gives(readOrder(businessAccount), { id: orderId, status: rawStatus })).toMatchObject(known);
      const order = { order_id: orderId, status: rawStatus };
      expect(await gives(readOrder(partnerAccount), { order })).toMatchObject(known);
    }
  });

  it('those of stops and actions are kept in clear, other words are not', async () => {
    const { gives } = await service();
    const words = ['Pending', 'Confirmed', 'Waiting', 'Completed', 'Cancelled'];
    const stops = words.map((word) => ({ progress_status: word, actions: [{ status: word }] }));
    const call = business('orderDetails', { orderId });
    expect(await gives(call, { stops })).toMatchObject({ body: { stops } });
    expect(await gives(call, { stops: [{ progress_status: 'Dana' }] })).toMatchObject({ body: { stops: [{}] } });
  });
});

it.each<[number, string]>([
  [400, 'BAD_REQUEST'],
  [401, 'TOKEN_REJECTED'],
  [402, 'PAYMENT_REQUIRED'],
  [403, 'FORBIDDEN'],
  [404, 'ORDER_UNKNOWN'],
  [422, 'UNPROCESSABLE'],
  [429, 'RATE_LIMITED'],
  ...[500, 502, 503, 504].map((status): [number, string] => [status, 'UPSTREAM_FAILED']),
])(
  'the published error %i of the partner interface has a code of its own, and the words of the envelope',
  async (status, code) => {
    const { gives } = await service();
    const given = await gives(readOrder(partnerAccount), published('error-envelope-400'), { status });
    expect(given).toMatchObject({ name: 'RideApiError', code, status, upstreamCode: 'VALIDATION_ERROR' });
  },
);
