import { describe, expect, it } from 'vitest';
import { UndecodablePayload } from '../../src/domain/input-fields.js';
import { missedMemoField } from '../../src/domain/notify/notices.js';
import { parkedMemoField } from '../../src/domain/parked.js';
import { publishedAddresses, publishedDelivery, publishedMissed, readTrail } from '../../src/domain/published.js';
import { subscriptionMemoField } from '../../src/domain/subscription/subscription.js';
import { emptyLease, publishedLease } from '../../src/domain/token-lease.js';

const at = '2031-05-01T10:00:00.000Z';
const token = { id: 't1', sealed: 's', requestedAt: at, renewAt: at, expiresAt: at };
const lease = { ...emptyLease, token, failure: { code: 'upstreamUnavailable', message: 'm', at, retryAt: at } };
const generation = { generation: 'abc', until: null, secrets: ['s'], isSecretLost: false };
const parked = {
  account: 'business',
  eventType: 'status_changed',
  deliveryId: 'd',
  receivedAt: at,
  reason: 'noOrderId',
  outcome: 'waiting',
};
const orderOfTrail = { account: 'a', orderId: '1', status: null, outcome: null, terminal: false };
const trail = { ...orderOfTrail, timeline: [], deliveries: { received: 0, duplicate: 0 } };
const missed = { number: 1, type: 'order.changed', at, to: 'the store', reason: 'refused', status: 400, missedAt: at };
const damagedGenerations = [null, { ...generation, secrets: [5] }, { ...generation, generation: '../x' }];

const readers: [string, (value: unknown) => unknown, object, object[]][] = [
  [
    'a lease',
    (value) => publishedLease({ lease: value }),
    lease,
    [{ token: {} }, { token: { ...token, renewAt: 'x' } }, { failure: 5 }, { renewals: null }],
  ],
  [
    'addresses',
    (value) => publishedAddresses({ [subscriptionMemoField]: value }),
    { accepted: [generation] },
    [{ accepted: {} }, ...damagedGenerations.map((one) => ({ accepted: [one] }))],
  ],
  [
    'a parked delivery',
    (value) => publishedDelivery({ [parkedMemoField]: value }),
    parked,
    [{ reason: 'toString' }, { eventType: 'x' }, { receivedAt: 'never' }],
  ],
  ['a trail', readTrail, trail, [{ timeline: 'x' }, { deliveries: null }, { outcome: 5 }]],
];

describe.each(readers)('what is published as %s', (_, read, ours, wrong) => {
  it('is read as our run has written it, and with the fields of a later release', () => {
    expect(read(ours)).toEqual(ours);
    expect(read({ ...ours, later: 1 })).toMatchObject(ours);
  });

  const strange = [undefined, null, 'text', 5, [], {}, new UndecodablePayload('not JSON')];
  const damaged = wrong.map((part) => ({ ...ours, ...part }));
  it.each([...strange, ...damaged])('is not read from %j, which none of our runs has written', (value) => {
    expect(read(value)).toBeNull();
  });
});

it('a run without a memo has published nothing', () => {
  for (const read of [publishedLease, publishedAddresses, publishedDelivery]) expect(read(undefined)).toBeNull();
  expect(publishedMissed(undefined)).toEqual([]);
});

it('the notices that may be sent again are those in the memo, or none where another program wrote it', () => {
  expect(publishedMissed({ [missedMemoField]: [missed] })).toEqual([missed]);
  for (const wrong of [missed, [{ ...missed, number: '1' }], [{ ...missed, at: 'x' }]])
    expect(publishedMissed({ [missedMemoField]: wrong })).toEqual([]);
});
