import { describe, expect, it, onTestFinished } from 'vitest';
import { parseContractProfile } from '../../src/contracts/default-contract-profile.js';
import { FaretrailError } from '../../src/domain/errors.js';
import { shownText } from '../../src/domain/json.js';
import { toOrderId, toScope } from '../../src/domain/keys.js';
import type { Http } from '../../src/ride-api/http.js';
import { createRideApi, type RideApi } from '../../src/ride-api/ride-api.js';
import { fieldsRead, type Hostility, hostileFields, hostileJson, hostilities } from '../support/hostile/json.js';
import { businessAccount, partnerAccount } from './accounts.js';
import { serve } from './loopback-server.js';

const profile = parseContractProfile({
  operations: { listSubscribers: { enabled: true }, deleteSubscriber: { enabled: true } },
});
const orderId = toOrderId('o1');
const order = { id: 'o1', status: 'Driving', supplier: { driver: { name: 'N' } } };
const refusal = { error: { code: 'CODE', message: 'no' }, request_id: 'r1' };
const call = { account: businessAccount().name, requestId: 'q1' };
const deliveryAddress = `https://rides.example/webhooks/${'x'.repeat(43)}`;
const subscriber = { id: 's1', secret_id: 's', hook_address: deliveryAddress, created_at: 't', updated_at: 't' };

interface Reader {
  /** What the service answers when all is well. */
  base: unknown;
  status?: number;
  ask(api: RideApi, url: string): Promise<unknown>;
}

const readers: Record<string, Reader> = {
  orderStatus: { base: order, ask: (api, url) => api.readOrder(partnerAccount(url), orderId, 't') },
  orderDetails: { base: order, ask: (api, url) => api.readOrder(businessAccount(url), orderId, 't') },
  receipt: {
    base: { payment_summary: { total_inc_tax: '22.00' } },
    ask: (api, url) => api.readReceipt(businessAccount(url), orderId, 't'),
  },
  create: {
    base: { id: 'o1', driver: { rating: 5 } },
    status: 201,
    ask: (api, url) => api.callOperation(businessAccount(url), { ...call, operation: 'createOrder', body: {} }, 't'),
  },
  effect: {
    base: order,
    ask: (api, url) => api.readEffect(businessAccount(url), { ...call, operation: 'cancelOrder', orderId }, 't'),
  },
  refusedCall: {
    base: refusal,
    status: 422,
    ask: (api, url) => api.callOperation(businessAccount(url), { ...call, operation: 'cancelOrder', orderId }, 't'),
  },
  refusedRead: {
    base: refusal,
    status: 400,
    ask: (api, url) => api.readOrder(partnerAccount(url), orderId, 't'),
  },
  newSubscriber: {
    base: subscriber,
    ask: (api, url) =>
      api.createSubscriber(businessAccount(url), { deliveryAddress, eventType: 'status_changed' }, 't'),
  },
  subscribers: {
    base: { subscribers: [subscriber] },
    ask: (api, url) => api.listSubscribers(businessAccount(url), 't'),
  },
  token: {
    base: { access_token: 'a', token_type: 'bearer', expires_in: 60, scope: 'x' },
    ask: (api, url) => api.requestToken(businessAccount(url, url), toScope('x'), undefined),
  },
  refusedToken: {
    base: { error: 'invalid_scope', error_description: 'no' },
    status: 400,
    ask: (api, url) => api.requestToken(businessAccount(url, url), toScope('x'), undefined),
  },
};

const apiOver = (http?: Http) => createRideApi({ profile, keepsPersonalData: true, ...(http && { http }) });

/** The fields that the code looks for in an answer, by asking it: a new one is in here by itself. */
const fieldsOf = ({ base, status = 200, ask }: Reader): Promise<string[][]> =>
  fieldsRead(base, (body) => {
    const send: Http['send'] = async () => ({ status, headers: {}, body });
    return ask(apiOver({ send, close: async () => {} }), 'https://rides.example');
  });

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...textsIn(inner)]);
}

function isHarmless(outcome: unknown): boolean {
  if (outcome instanceof FaretrailError) return shownText(outcome.message) === outcome.message;
  if (outcome instanceof Error) return false;
  const { status = '', rawStatus } = (outcome ?? {}) as { status?: string; rawStatus?: string };
  const isShowable = rawStatus === undefined || shownText(status) === status; // only of an order it is shown
  return isShowable && textsIn(outcome).every((text) => text.isWellFormed());
}

describe.each(Object.entries(readers))('an answer to %s', (_, reader) => {
  it('may hold anything in any field: it is harmless when it is read, or refused by name', async () => {
    const api = apiOver();
    onTestFinished(() => api.close());
    const url = await serve((request, response) => {
      const { field, hostility } = cases[Number(/at=(\d+)/.exec(request.url ?? '')?.[1] ?? 0)] ?? cases[0] ?? never();
      response
        .writeHead(reader.status ?? 200, { 'Content-Type': 'application/json' })
        .end(hostileJson(reader.base, field, hostileFields[hostility]));
    });
    const fields = await fieldsOf(reader);
    expect(fields.length).toBeGreaterThan(0);
    const cases = fields.flatMap((field) => hostilities.map((hostility) => ({ field, hostility })));
    for (const [at, { field, hostility }] of cases.entries()) {
      const outcome = await reader.ask(api, `${url}/at=${at}`).catch((error: unknown) => error);
      expect(isHarmless(outcome), `/${field.join('/')} ${hostility}: ${String(outcome)}`).toBe(true);
    }
  });
});

it('names what is wrong with an answer', async () => {
  const api = apiOver();
  onTestFinished(() => api.close());
  const codes: Partial<Record<Hostility, string | undefined>> = {};
  for (const hostility of hostilities) {
    const body = hostileJson({ id: 'o1' }, ['status'], hostileFields[hostility]);
    const url = await serve((_, response) => void response.end(body));
    codes[hostility] = await readers.orderStatus?.ask(api, url).then(
      () => 'read',
      (error: { code: string }) => error.code,
    );
  }
  expect(codes).toEqual({
    halfPairEscaped: 'read',
    halfPairInBytes: 'read',
    invalidUtf8: 'read',
    nul: 'read',
    nulInBytes: 'NOT_JSON',
    escape: 'read',
    rightToLeft: 'read',
    byteOrderMark: 'read',
    lines: 'read',
    megabyte: 'UNREADABLE_STATUS',
    levels: 'TOO_DEEP',
    objects: 'TOO_DEEP',
    twice: 'AMBIGUOUS',
    prototype: 'AMBIGUOUS',
    beyond2to53: 'UNREADABLE_STATUS',
    notANumber: 'NOT_JSON',
  });
});

const never = (): never => expect.fail('there is no such case');
