import fc from 'fast-check';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.js';
import { businessCall, inMs, newDelivery, newRide } from './booking-calls.js';
import { newToken } from './calls.js';

let sandbox: Sandbox;
let token: string;
let orderId: string;
beforeAll(async () => {
  sandbox = await startSandbox();
  token = await newToken(sandbox, 'business', { scope: 'order company.reference finance' });
  const ride = newRide({ scheduled_at: inMs(86_400_000) });
  orderId = ((await businessCall(sandbox, 'POST', '/v1/orders', ride, { token })).json as { id: string }).id;
});
afterAll(() => sandbox.close());

/** A copy of `value` in which the part under `path` is another one. */
function withPart(value: unknown, [key, ...path]: readonly string[], part: unknown): unknown {
  if (key === undefined) return part;
  const copy = structuredClone(value) as Record<string, unknown>;
  copy[key] = withPart(copy[key], path, part);
  return copy;
}

function pathsIn(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [[]];
  return [[], ...Object.entries(value).flatMap(([key, inner]) => pathsIn(inner).map((path) => [key, ...path]))];
}

const nearlyRight = fc
  .constantFrom<unknown>(newRide({ references: [{ id: 11, title: 'Cost centre', value: 'A1' }] }), newDelivery(), [
    { value: 'A1' },
  ])
  .chain((body) =>
    fc.tuple(fc.constantFrom(...pathsIn(body)), fc.jsonValue()).map(([path, part]) => withPart(body, path, part)),
  );

const anyBody = fc.oneof(
  fc.string({ maxLength: 50 }),
  fc.json(),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  nearlyRight.map((body) => JSON.stringify(body) ?? ''),
  fc.constant('['.repeat(50_000)),
  fc.constant(`${'{"stops":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
);

const places = fc.constantFrom<[method: string, path: () => string]>(
  ['POST', () => '/v1/products'],
  ['POST', () => '/v1/orders'],
  ['PATCH', () => `/v1/orders/${orderId}`],
  ['PATCH', () => '/v1/orders/nobody'],
  ['POST', () => '/v1/reference-fields/11/codes'],
  ['POST', () => '/v1/reference-fields/%00/codes'],
  ['POST', () => '/v1/orders/nobody/cancel'],
);

describe('whatever is posted', () => {
  it('is never answered with a server error', async () => {
    await fc.assert(
      fc.asyncProperty(
        places,
        anyBody,
        fc.option(fc.stringMatching(/^[ -~]{0,40}$/), { nil: undefined }),
        async ([method, path], body, requestId) => {
          const { status } = await businessCall(sandbox, method, path(), body, {
            token,
            ...(requestId === undefined ? {} : { requestId }),
          });
          return status >= 200 && status < 500;
        },
      ),
      { numRuns: 600 },
    );
  });
});
