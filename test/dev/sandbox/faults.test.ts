import { beforeEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../../dev/sandbox/faults.js';
import type { Sandbox } from '../../../dev/sandbox/sandbox.js';
import { askToken, newToken, readBusinessOrder, readPartnerOrder, sandboxOfOneTest } from './calls.js';

let sandbox: Sandbox;
let token: string;
beforeEach(async () => {
  sandbox = await sandboxOfOneTest({ seed: 7 });
  token = await newToken(sandbox, 'partner');
});

const path = '/v1/private/orders/status/p-1';
const read = (orderId = 'p-1') => readPartnerOrder(sandbox, orderId, token);
const readUnder = (fault: FaultInput) => {
  sandbox.setFault(fault);
  return read();
};

describe('a fault in the answer', () => {
  it.each([
    ['unauthorized', 401],
    ['forbidden', 403],
    ['notFound', 404],
    ['tooManyRequests', 429],
    ['serverError', 500],
    ['unavailable', 503],
  ] as const)('%s is a refusal with %d in the envelope', async (kind, status) => {
    const seen = await readUnder({ kind });
    expect(seen).toMatchObject({ status, json: { status: 'error', error: { code: expect.any(String) } } });
    expect(seen.headers).not.toHaveProperty('retry-after');
  });

  it.each(['tooManyRequests', 'unavailable'] as const)('%s can name seconds or a date to wait', async (kind) => {
    sandbox.setFault({ kind, retryAfterSeconds: 7, times: 1 });
    expect((await read()).headers['retry-after']).toBe('7');
    const seen = await readUnder({ kind, retryAfterSeconds: 60, retryAfterAs: 'date' });
    const named = String(seen.headers['retry-after']);
    expect(named).toMatch(/^\w{3}, \d{2} \w{3} \d{4} .* GMT$/);
    expect(Date.parse(named) - Date.now()).toBeGreaterThan(57_000);
  });

  it.each<[FaultInput, object]>([
    [{ kind: 'malformedJson' }, { status: 200, text: expect.stringMatching(/^\{"order/), json: undefined }],
    [{ kind: 'emptyBody' }, { status: 200, text: '' }],
    [
      { kind: 'html', status: 502 },
      { status: 502, headers: { 'content-type': 'text/html' } },
    ],
    [{ kind: 'redirect' }, { status: 302, headers: { location: path } }],
    [{ kind: 'errorInSuccess' }, { status: 200, json: { status: 'error' } }],
    [
      { kind: 'reply', status: 418, body: { pot: [1] } },
      { status: 418, json: { pot: [1] } },
    ],
    [
      { kind: 'reply', status: 200, headers: { 'x-tea': 'yes' }, body: 'plain' },
      { headers: { 'x-tea': 'yes' }, text: 'plain' },
    ],
    [{ kind: 'reply', status: 200, bytes: Buffer.from([0x22, 0xff, 0x22]).toString('base64') }, { text: '"\uFFFD"' }],
  ])('can be this one: %j', async (fault, seen) => {
    expect(await readUnder(fault)).toMatchObject(seen);
  });
});

describe('a fault hits', () => {
  it('only the calls of its operation, or of the order it names', async () => {
    sandbox.setFault({ kind: 'serverError', operation: 'orderDetails' });
    expect((await read()).status).toBe(200);
    expect((await readBusinessOrder(sandbox, 'b', token)).status).toBe(500);
    sandbox.setFault({ kind: 'unavailable', orderId: 'p-2' });
    expect((await read('p-1')).status).toBe(200);
    expect((await read('p-2')).status).toBe(503);
    expect((await askToken(sandbox, 'partner')).status).toBe(200);
  });

  it('as many times as it says, or until it is cleared by its id', async () => {
    const id = sandbox.setFault({ kind: 'serverError' });
    sandbox.setFault({ kind: 'unavailable', times: 1 });
    expect((await read()).status).toBe(500);
    expect(sandbox.clearFault(id)).toBe(true);
    expect(sandbox.clearFault(id)).toBe(false);
    expect([(await read()).status, (await read()).status]).toEqual([503, 200]);
  });

  it('the same calls again for the same seed and probability', async () => {
    const hits = async (seed: number) => {
      const other = await sandboxOfOneTest({ seed });
      other.setFault({ kind: 'serverError', probability: 0.5 });
      const statuses: number[] = [];
      for (let i = 0; i < 40; i += 1) statuses.push((await readPartnerOrder(other, 'x', 'none')).status);
      return statuses;
    };
    const first = await hits(1);
    expect(await hits(1)).toEqual(first);
    expect(await hits(2)).not.toEqual(first);
    const share = first.filter((status) => status === 500).length;
    expect(share).toBeGreaterThan(8);
    expect(share).toBeLessThan(32);
  });
});
