import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { businessOperations } from '../../src/domain/call.js';
import { type OrderId, orderIdIn, toAccountName, toOrderId, toScope } from '../../src/domain/keys.js';
import { quote } from '../../src/domain/search-attribute-names.js';
import { eventTypes } from '../../src/domain/subscription/subscription.js';
import { accountQueueOf, defaultTaskQueue, watchQueueOf } from '../../src/domain/task-queues.js';
import * as ids from '../../src/domain/workflow-ids.js';
import { forAny } from '../support/for-any.js';

const account = fc.stringMatching(/^[a-z0-9-]{1,40}$/).map((name) => toAccountName(name));
const orderId = fc
  .oneof(fc.string({ minLength: 1, maxLength: 128 }), fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }))
  .filter((text): text is OrderId => orderIdIn(text) === text);
const credentialId = fc.stringMatching(/^[0-9a-f]{16}$/);
/** RFC 6749 section 3.3 without "+", which joins values in our ids, and without "/". */
const scope = fc
  .array(fc.stringMatching(/^[!#-*,-.0-[\]-~]{1,12}$/), { maxLength: 4 })
  .map((values) => toScope(values.join(' ')))
  .filter((value) => value !== 'unscoped');
const callerKey = fc.stringMatching(/^[A-Za-z0-9._~-]{1,100}$/);
const operation = fc.constantFrom(...businessOperations);
const business = toAccountName('business');
const credential = { account: business, credentialId: '0123' };
const leaseKeys = fc.record({ account, scope, credentialId });

/** The maker of an id and its inverse, keys, the spelling of some, and what is no such id. */
const row = <Key>(
  of: string,
  make: (key: Key) => string,
  read: (id: string) => Key | undefined,
  keys: fc.Arbitrary<Key>,
  spelt: [Key, string][],
  strange: string[],
) => ({
  of,
  read,
  strange,
  back: () =>
    forAny(keys, (key) => {
      const id = make(key);
      expect([read(id), read(`x${id}`), read(`${id}/`)]).toEqual([key, undefined, undefined]);
    }),
  spelt: spelt.map(([key, id]) => [make(key), id]),
});

describe.each([
  row(
    'followed order',
    ids.followOrderId,
    ids.fromFollowOrderId,
    fc.record({ account, orderId }),
    [[{ account: toAccountName('partner'), orderId: toOrderId(4711) }, 'order/partner/4711']],
    [
      // A part is missing, or there is one too many.
      ...['', 'order/', 'order/partner', 'order/partner/', 'order//4711'],
      ...['/order/partner/4711', 'order/partner/4711/', 'order/partner/47/11', 'order/partner/4711/order/partner/4711'],
      // A part has a spelling that its own reader refuses, or the run is of another kind.
      ...['Order/partner/4711', 'order/Partner/4711', `order/${'x'.repeat(41)}/4711`],
      ...[' 4711', 'a\nb', 'x'.repeat(129)].map((refused) => `order/partner/${refused}`),
      ...['ride/partner/4711', 'token/partner/order/0123456789abcdef', 'subscription/partner/status_changed'],
    ],
  ),
  row(
    'token lease',
    ids.accessTokenId,
    ids.fromAccessTokenId,
    leaseKeys,
    [
      [{ ...credential, scope: toScope('order finance') }, 'token/business/finance+order/0123'],
      [{ ...credential, scope: toScope('') }, 'token/business/unscoped/0123'],
    ],
    [
      ...['', 'token/business', 'token/business/order', 'token/business/order/', 'token/business//0123456789abcdef'],
      ...['token/Business/order/0123456789abcdef', 'token/business/order/0123456789abcdef/1', 'order/business/4711'],
    ],
  ),
  row(
    'business call',
    ids.businessCallId,
    ids.fromBusinessCallId,
    fc.record({ account, operation, key: callerKey }),
    [[{ account: business, operation: 'createOrder', key: 'trip-9' }, 'call/business/createOrder/trip-9']],
    ['', 'call/business/createOrder', 'call/business/bookRide/1', 'call/business/createOrder/a/b', 'order/a/b'],
  ),
  row(
    'ride',
    ids.requestRideId,
    ids.fromRequestRideId,
    fc.record({ account, requestId: callerKey }),
    [[{ account: business, requestId: 'trip-9_a.b~c' }, 'ride/business/trip-9_a.b~c']],
    ['ride/business', 'ride/business/a/b', 'ride/Business/a', 'order/business/a', 'ride/business/ '],
  ),
  row(
    'subscription',
    ids.subscriptionId,
    ids.fromSubscriptionId,
    fc.record({ account, eventType: fc.constantFrom(...eventTypes) }),
    [[{ account: business, eventType: 'status_changed' }, 'subscription/business/status_changed']],
    ['', 'subscription/business', 'subscription/business/order_created', 'subscription/Business/status_changed'],
  ),
  row(
    'company report',
    ids.companyReportId,
    ids.fromCompanyReportId,
    fc.record({ account, about: orderId }),
    [[{ account: business, about: toOrderId('4711') }, 'report/business/4711']],
    ['', 'report/business', 'report/business/a/b', 'report/Business/1', 'report/business/ 1'],
  ),
  row(
    'parked delivery',
    ids.parkedDeliveryId,
    ids.fromParkedDeliveryId,
    fc.record({ account, deliveryId: fc.stringMatching(/^[0-9a-f]{32}$/) }),
    [[{ account: business, deliveryId: '0f'.repeat(16) }, `parked/business/${'0f'.repeat(16)}`]],
    ['', 'parked/business', 'parked/business/0f', `parked/Business/${'0f'.repeat(16)}`],
  ),
  row(
    'run of notices',
    ids.noticesId,
    ids.fromNoticesId,
    fc.record({
      about: fc.record({ account, orderId }).map(ids.followOrderId),
      firstRunId: fc.uuid(),
      receiver: fc.constantFrom('0', '49', 'store'),
    }),
    [[{ about: 'report/business/4711', firstRunId: 'a1', receiver: '0' }, 'notices/report/business/4711/a1/0']],
    ['', 'notices/a1/0', 'notices//a1/0', 'notices/order/business/4711/', 'order/business/4711/a1/0'],
  ),
])('the id of a $of', ({ read, back, spelt, strange }) => {
  it('is read back as what it was made of', back);

  it.each(spelt)('has the spelling that other programs rely on: %s', (made, id) => {
    expect(made).toBe(id);
  });

  it.each(strange)('is not %j', (id) => {
    expect(read(id)).toBeUndefined();
  });
});

it('the ids of two token leases differ unless account, scope and credential are the same', () => {
  forAny(leaseKeys, leaseKeys, (one, two) => {
    const isSame = JSON.stringify(one) === JSON.stringify(two);
    expect(ids.accessTokenId(one) === ids.accessTokenId(two)).toBe(isSame);
  });
});

it('an id that no program reads back has the spelling that other programs rely on, too', () => {
  const changeId = '2cc1dbce-02e0-4885-a68a-88eb0a893842';
  expect(ids.changeRideId({ account: business, requestId: 'trip-9', changeId })).toBe(
    `change/business/trip-9/${changeId}`,
  );
});

it('the watch of an account and its queues bear the name of the main task queue', () => {
  expect(ids.accountWatchId(business, defaultTaskQueue)).toBe('watch/business');
  expect(ids.accountWatchId(business, 'rides')).toBe('watch/business/rides');
  expect(['watch/business', 'watch/business/rides'].map(ids.fromAccountWatchId)).toEqual(
    Array(2).fill({ account: business }),
  );
  for (const other of ['', 'watch', 'watch/Business', 'watch/business/', 'xwatch/business', 'order/business/1'])
    expect(ids.fromAccountWatchId(other)).toBeUndefined();
  expect([accountQueueOf('rides', business), watchQueueOf('rides', business)]).toEqual([
    'rides.business',
    'rides.business.watch',
  ]);
});

it('a text in a query of visibility cannot leave its quotes', () => {
  expect(quote("a'b\\c OR 'd")).toBe("'a\\'b\\\\c OR \\'d'");
});
