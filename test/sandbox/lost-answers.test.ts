import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FaultInput } from '../../sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { businessCall, newRide } from './booking-calls.js';
import { newToken } from './calls.js';

let sandbox: Sandbox;
let token: string;
beforeEach(async () => {
  sandbox = await startSandbox();
  token = await newToken(sandbox, 'business');
});
afterEach(() => sandbox.close());

const create = () => businessCall(sandbox, 'POST', '/v1/orders', newRide(), { token, requestId: 'r-1' });
const cancel = (orderId: string) => businessCall(sandbox, 'POST', `/v1/orders/${orderId}/cancel`, undefined, { token });

/** What a caller saw of a call: the HTTP status, or `none`. */
const seenOf = (answer: Promise<{ status: number }>): Promise<number | 'none'> =>
  answer.then(
    ({ status }) => status,
    () => 'none',
  );

const after = { operation: 'createOrder', when: 'answer', times: 1 } as const;
const afterTheEffect: [FaultInput, number | 'none'][] = [
  [{ kind: 'dropConnection', ...after }, 'none'],
  [{ kind: 'serverError', ...after }, 500],
  [{ kind: 'unavailable', retryAfterSeconds: 1, ...after }, 503],
  [{ kind: 'html', status: 504, ...after }, 504],
  [{ kind: 'reply', status: 502, body: 'gone', ...after }, 502],
];

describe('an answer that is lost after the effect', () => {
  it.each(afterTheEffect)('leaves an order behind, and the ledger knows its id: %j', async (fault, seen) => {
    sandbox.setFault(fault);
    expect(await seenOf(create())).toBe(seen);
    const [made, ...more] = sandbox.createdOrders();
    expect(more).toEqual([]);
    expect(sandbox.ledger({ operation: 'createOrder' })).toMatchObject([
      { orderId: made?.orderId, requestId: 'r-1', fault: fault.kind, httpStatus: seen === 'none' ? null : seen },
    ]);
    expect((await create()).json).toEqual({ id: made?.orderId });
    expect(sandbox.createdOrders()).toHaveLength(1);
  });

  it.each(afterTheEffect)('has no effect when the fault hits the request instead: %j', async (fault) => {
    sandbox.setFault({ ...fault, when: 'request' } as FaultInput);
    await seenOf(create());
    expect(sandbox.createdOrders()).toEqual([]);
    expect(sandbox.ledger({ operation: 'createOrder' })[0]?.orderId).toBeUndefined();
  });

  it('books twice when the service forgets request ids and the client asks again', async () => {
    sandbox.setBookingSettings({ forgetsRequestIds: true });
    sandbox.setFault({ kind: 'dropConnection', ...after });
    await seenOf(create());
    await create();
    expect(sandbox.createdOrders()).toHaveLength(2);
  });
});

describe('a fault that changes how an answer without a body travels', () => {
  it.each<[FaultInput, number | 'none']>([
    [{ kind: 'dropConnection', when: 'middle' }, 'none'],
    [{ kind: 'dropConnection', when: 'answer' }, 'none'],
    [{ kind: 'slow', delayMs: 10 }, 204],
    [{ kind: 'slowBody', durationMs: 10 }, 204],
    [{ kind: 'malformedJson' }, 204],
    [{ kind: 'emptyBody' }, 204],
    [{ kind: 'hugeJson', bytes: 1_048_577 }, 200],
  ])('leaves the order cancelled: %j', async (fault, seen) => {
    const { id } = (await create()).json as { id: string };
    sandbox.setFault({ ...fault, orderId: id });
    expect(await seenOf(cancel(id))).toBe(seen);
    sandbox.clearFaults();
    expect((await cancel(id)).status).toBe(422);
  });

  it('hugeJson is JSON all the same', async () => {
    const { id } = (await create()).json as { id: string };
    sandbox.setFault({ kind: 'hugeJson', bytes: 1_048_577 });
    expect((await cancel(id)).json).toEqual({ padding: expect.any(String) });
  });
});
