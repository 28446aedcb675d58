import fc from 'fast-check';
import type { OtherAnswer } from '../../sandbox/other-answers.js';
import type { RideInterface } from '../../src/domain/account.js';

// How else a service may answer about an order at the paths and with the words that we assume: other ones a person looks up. The
// vocabulary is our idea of such services, weighted by how common a form is. It is wider than what the probe knows, and nothing of it may
// be taken from the probe.

/** A service that answers otherwise than the built-in profile assumes. */
export interface Deviation {
  at: RideInterface;
  kinds: readonly Kind[];
  answer: OtherAnswer;
}

const kinds = ['under', 'names', 'errors', 'code', 'beside'] as const;
type Kind = (typeof kinds)[number];

const weighted = <Value>(...weights: [weight: number, ...values: Value[]][]): fc.Arbitrary<Value> =>
  fc.oneof(
    ...weights.map(([weight, ...values]) => ({
      weight: weight * values.length,
      arbitrary: fc.constantFrom(...values),
    })),
  );

const under = fc.array(fc.constantFrom('result', 'data', 'ride', 'payload', 'response', 'item', 'order', 'content'), {
  minLength: 1,
  maxLength: 3,
});

const statusName = weighted(
  [3, 'state', 'order_status'],
  [2, 'rideStatus', 'current_status', 'phase'],
  [1, 'stage', 'tripState', 'zustand', 'situation', 'progress'],
);
const idName = fc.constantFrom('id', 'order_id', 'ref', 'ride_id', 'uuid', 'number', 'orderNumber', 'key');

const errors = fc.record({
  errorBody: fc.constantFrom<unknown>(
    { type: 'about:blank', title: 'Not Found', status: 404 },
    { message: 'no such thing' },
    { errors: [{ code: 'E404', title: 'unknown' }] },
    { code: 1404, text: 'unknown' },
    'unknown',
  ),
  notFoundStatus: weighted([4, 404], [1, 400, 410, 422]),
});

const code = fc.constantFrom(201, 202, 203, 206);
const beside = fc.constantFrom<Record<string, unknown>>(
  { status: 'fine', id: 'm-1' },
  { status: 'success' },
  { payment: { status: 'Completed', id: 'p-1' } },
  { meta: { state: 'cached' }, request_id: 'r-1' },
  { driver_info: { status: 'Waiting', id: 'd-1' } },
);

/** One deviation or several at once, at either interface. */
export const deviations: fc.Arbitrary<Deviation> = fc
  .record({
    at: fc.constantFrom<RideInterface>('partner', 'business'),
    kinds: fc.subarray([...kinds], { minLength: 1, maxLength: 4 }),
    names: fc.record({ status: statusName, id: idName }),
    ...{ under, errors, code, beside },
  })
  .map(({ at, kinds, names, under, errors, code, beside }): Deviation => {
    const made: Record<Kind, OtherAnswer> = {
      under: { under },
      names: { names: { status: names.status, id: names.id, order_id: names.id } },
      errors,
      code: { status: code },
      beside: { under, beside }, // otherwise it would replace fields of the order
    };
    return { at, kinds, answer: Object.assign({}, ...kinds.map((kind) => made[kind])) as OtherAnswer };
  });
