import fc from 'fast-check';
import type { OtherAnswer } from '../../sandbox/other-answers.js';
import type { RideInterface } from '../../src/domain/account.js';

// How else a service may answer about an order. The vocabulary is our idea of such services, weighted by how common a form is. It is
// wider than what the probe knows, and nothing of it may be taken from the probe.

/** A service that answers otherwise than the built-in profile assumes. */
export interface Deviation {
  at: RideInterface;
  kinds: readonly Kind[];
  answer: OtherAnswer;
}

const kinds = ['path', 'under', 'names', 'words', 'errors', 'code', 'beside'] as const;
type Kind = (typeof kinds)[number];

const weighted = <Value>(...weights: [weight: number, ...values: Value[]][]): fc.Arbitrary<Value> =>
  fc.oneof(
    ...weights.map(([weight, ...values]) => ({
      weight: weight * values.length,
      arbitrary: fc.constantFrom(...values),
    })),
  );

const parts = {
  prefix: weighted(
    [5, '/v2'],
    [2, '/v3', '/api/v1', '/api/v2'],
    [1, '/v4', '/api', '/rest/v1', '/public/v1', '/b2b/v1', '/v1.1', ''],
  ),
  noun: weighted(
    [4, 'rides'],
    [3, 'trips', 'bookings'],
    [1, 'journeys', 'requests', 'reservations', 'order', 'transfers'],
  ),
  tail: weighted(
    [3, '/:orderId/status'],
    [2, '/:orderId/details', '/status/:orderId', '/:orderId'],
    [1, '/:orderId/info', '/by-id/:orderId'],
  ),
};
type Part = keyof typeof parts;
const assumed: Record<Part, string> = { prefix: '/v1', noun: 'orders', tail: '/:orderId' };

const changedParts: fc.Arbitrary<Part[]> = weighted<Part[]>(
  [7, ['prefix'], ['noun'], ['tail']],
  [3, ['prefix', 'noun'], ['prefix', 'tail'], ['noun', 'tail']],
  [2, ['prefix', 'noun', 'tail']],
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

const inWords = (words: string): Record<string, string> => {
  const [Pending, Routing, Confirmed, Waiting, Driving, Completed, Cancelled, Rejected] = words.split(' ');
  return Object.fromEntries(
    Object.entries({ Pending, Routing, Confirmed, Waiting, Driving, Completed, Cancelled, Rejected }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
};
const words = weighted(
  [
    3,
    inWords('created searching accepted arrived in_progress finished aborted no_driver'),
    inWords('NEW DISPATCHING ASSIGNED AT_PICKUP ONBOARD DONE CXL FAILED'),
    inWords('neu suche angenommen wartet unterwegs erledigt storniert abgelehnt'),
    inWords('order_new order_search order_taken order_arrived order_run order_done order_dropped order_refused'),
    inWords('Pending Routing Confirmed Waiting Driving Finished CancelledByUser Expired'),
  ],
  [
    1,
    inWords('10 20 30 40 50 90 91 92'),
    inWords('open open open open open closed closed closed'),
    inWords('Pending Routing Confirmed Waiting Driving Confirmed Pending Routing'),
  ],
);

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

/** One deviation or several at once, at either interface. The path of the partner interface is given, so it does not differ. */
export const deviations: fc.Arbitrary<Deviation> = fc
  .constantFrom<RideInterface>('partner', 'business')
  .chain((at) =>
    fc.record({
      at: fc.constant(at),
      kinds: fc.subarray(at === 'partner' ? kinds.filter((kind) => kind !== 'path') : [...kinds], {
        minLength: 1,
        maxLength: 4,
      }),
      changed: changedParts,
      parts: fc.record(parts),
      names: fc.record({ status: statusName, id: idName }),
      ...{ under, words, errors, code, beside },
    }),
  )
  .map(({ at, kinds, changed, parts, names, under, words, errors, code, beside }): Deviation => {
    const path = { ...assumed, ...Object.fromEntries(changed.map((part) => [part, parts[part]])) };
    const made: Record<Kind, OtherAnswer> = {
      path: { url: `${path.prefix}/${path.noun}${path.tail}` },
      under: { under },
      names: { names: { status: names.status, id: names.id, order_id: names.id } },
      words: { words },
      errors,
      code: { status: code },
      beside: { under, beside }, // otherwise it would replace fields of the order
    };
    return { at, kinds, answer: Object.assign({}, ...kinds.map((kind) => made[kind])) as OtherAnswer };
  });
