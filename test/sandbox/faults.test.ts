import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { askToken, codeOf, newToken, quietOrder, readBusinessOrder, readPartnerOrder } from './calls.js';

let sandbox: Sandbox;
let token: string;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 7 });
  token = await newToken(sandbox, 'partner');
  for (const orderId of ['p-1', 'p-2']) sandbox.addOrder(quietOrder('partner', orderId));
});
afterEach(() => sandbox.clearFaults());
afterAll(() => sandbox.close());

const read = (orderId = 'p-1') => readPartnerOrder(sandbox, orderId, token);
const readUnder = (fault: FaultInput) => {
  sandbox.setFault(fault);
  return read();
};

describe('a fault that refuses', () => {
  it.each([
    ['unauthorized', 401],
    ['forbidden', 403],
    ['notFound', 404],
    ['tooManyRequests', 429],
    ['serverError', 500],
    ['unavailable', 503],
  ] as const)('%s answers %d in the envelope', async (kind, status) => {
    const seen = await readUnder({ kind });
    expect(seen).toMatchObject({ status, json: { status: 'error', error: { code: expect.any(String) } } });
    expect(seen.headers).not.toHaveProperty('retry-after');
  });

  it.each(['tooManyRequests', 'unavailable'] as const)('%s can name seconds to wait', async (kind) => {
    expect((await readUnder({ kind, retryAfterSeconds: 7 })).headers['retry-after']).toBe('7');
  });

  it.each(['tooManyRequests', 'unavailable'] as const)('%s can name a date to wait for', async (kind) => {
    const { headers } = await readUnder({ kind, retryAfterSeconds: 60, retryAfterAs: 'date' });
    expect(headers['retry-after']).toMatch(/^\w{3}, \d{2} \w{3} \d{4} .* GMT$/);
    const ahead = Date.parse(String(headers['retry-after'])) - Date.now();
    expect(ahead).toBeGreaterThan(57_000);
    expect(ahead).toBeLessThanOrEqual(60_000);
  });
});

describe('a fault in the answer', () => {
  it('malformedJson sends 200 and half of the JSON', async () => {
    expect(await readUnder({ kind: 'malformedJson' })).toMatchObject({
      status: 200,
      headers: { 'content-type': expect.stringContaining('application/json') },
      text: expect.stringMatching(/^\{"order/),
      json: undefined,
    });
  });

  it('emptyBody sends 200 and nothing', async () => {
    expect(await readUnder({ kind: 'emptyBody' })).toMatchObject({ status: 200, text: '' });
  });

  it('html sends a page', async () => {
    const seen = await readUnder({ kind: 'html', status: 502 });
    expect(seen).toMatchObject({ status: 502, headers: { 'content-type': 'text/html' } });
    expect(seen.text).toContain('<html>');
  });

  it('redirect points at the same address', async () => {
    const seen = await readUnder({ kind: 'redirect' });
    expect(seen).toMatchObject({ status: 302, headers: { location: '/v1/private/orders/status/p-1' } });
  });

  it('errorInSuccess sends the error envelope with 200', async () => {
    expect(await readUnder({ kind: 'errorInSuccess' })).toMatchObject({ status: 200, json: { status: 'error' } });
  });

  it('reply sends any status, headers and body', async () => {
    const seen = await readUnder({ kind: 'reply', status: 418, headers: { 'x-tea': 'yes' }, body: { pot: [1] } });
    expect(seen).toMatchObject({ status: 418, headers: { 'x-tea': 'yes' }, json: { pot: [1] } });
    sandbox.clearFaults();
    expect(await readUnder({ kind: 'reply', status: 200, body: 'plain' })).toMatchObject({ text: 'plain' });
    sandbox.clearFaults();
    const bytes = Buffer.from([0x22, 0xff, 0x22]).toString('base64');
    expect(await readUnder({ kind: 'reply', status: 200, bytes })).toMatchObject({ text: '"\uFFFD"' });
  });
});

describe('a fault hits', () => {
  it('only the calls of its operation', async () => {
    sandbox.setFault({ kind: 'serverError', operation: 'orderDetails' });
    expect((await read()).status).toBe(200);
    expect((await readBusinessOrder(sandbox, 'b', token)).status).toBe(500);
    expect((await askToken(sandbox, 'partner')).status).toBe(200);
  });

  it('any operation when it names none', async () => {
    sandbox.setFault({ kind: 'serverError' });
    expect((await askToken(sandbox, 'business')).status).toBe(500);
    expect((await read()).status).toBe(500);
  });

  it('only the order it names', async () => {
    sandbox.setFault({ kind: 'serverError', orderId: 'p-2' });
    expect((await read('p-1')).status).toBe(200);
    expect((await read('p-2')).status).toBe(500);
    expect((await askToken(sandbox, 'partner')).status).toBe(200);
  });

  it('only as many times as it says', async () => {
    sandbox.setFault({ kind: 'serverError', times: 2 });
    const statuses = [await read(), await read(), await read()].map(({ status }) => status);
    expect(statuses).toEqual([500, 500, 200]);
  });

  it('until it is cleared by its id', async () => {
    const id = sandbox.setFault({ kind: 'serverError' });
    sandbox.setFault({ kind: 'unavailable' });
    expect((await read()).status).toBe(500);
    expect(sandbox.clearFault(id)).toBe(true);
    expect((await read()).status).toBe(503);
    expect(sandbox.clearFault(id)).toBe(false);
    sandbox.clearFaults();
    expect((await read()).status).toBe(200);
  });

  it('the same calls again for the same seed and probability', async () => {
    const rounds = Array.from({ length: 40 }, (_, i) => i);
    const hits = async (seed: number) => {
      const other = await startSandbox({ seed });
      other.setFault({ kind: 'serverError', probability: 0.5 });
      const statuses: number[] = [];
      for (const _ of rounds) statuses.push((await readPartnerOrder(other, 'x', 'none')).status);
      await other.close();
      return statuses;
    };
    const first = await hits(1);
    expect(await hits(1)).toEqual(first);
    expect(await hits(2)).not.toEqual(first);
    const share = first.filter((status) => status === 500).length;
    expect(share).toBeGreaterThan(8);
    expect(share).toBeLessThan(32);
  });

  it('nothing when it is not a fault we know', () => {
    expect(() => sandbox.setFault({ kind: 'nonsense' } as unknown as FaultInput)).toThrow();
  });
});

describe('a fault of the answer does not hide what the call is', () => {
  it('emptyBody of a refused call keeps its status', async () => {
    sandbox.setFault({ kind: 'emptyBody' });
    const seen = await readPartnerOrder(sandbox, 'p-1', 'wrong');
    expect(seen).toMatchObject({ status: 401, text: '' });
    expect(() => codeOf(seen)).toThrow();
  });
});
