import { describe, expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import {
  addedReceivers,
  afterEnd,
  goOnFrom,
  isFollowedAgain,
  leftAtStart,
  type OrderEnd,
  type RunLeft,
  withDeliveries,
  withLeftOut,
  withRequest,
} from '../../../src/domain/order/earlier-run.js';
import { isRideReceiver } from '../../../src/domain/workflow-ids.js';
import { after, claim, inputOf, trailOf } from './trails.js';

const receiver = (name: string) => ({ workflowId: name, signal: 's' });
const leftBy = (more: Partial<RunLeft> = {}): RunLeft => ({ ...leftAtStart(inputOf(), after(9_000)), ...more });

describe('what comes to a run', () => {
  it('is counted, known again, and kept', () => {
    const [a, b] = [claim('Waiting'), claim()];
    const { trail, claims, seenDeliveries } = withDeliveries(withDeliveries(leftBy(), [a, b, a]), [b]);
    expect(trail).toMatchObject({ pushed: true, deliveries: { received: 4, duplicate: 2 } });
    expect(claims).toEqual([a, b, a, b]);
    expect(seenDeliveries).toEqual([a.deliveryId, b.deliveryId]);
  });

  it('fills what is not set, and adds receivers', () => {
    const before = leftBy({ input: inputOf({ followForMs: 5_000 }), receivers: [receiver('a')] });
    const request = { reference: 'r', followForMs: 9_000, notify: [receiver('b'), receiver('a')] };
    const after = withRequest(before, request);
    expect(after.input).toEqual(inputOf({ followForMs: 5_000, reference: 'r' }));
    expect(after.trail.reference).toBe('r');
    expect(after.receivers).toEqual([receiver('a'), receiver('b')]);
    expect(withRequest(after, request)).toEqual(after);
  });
});

describe('a run that goes on from an earlier one', () => {
  it('has its timeline, counts and details, and takes back an end that was none at the service', () => {
    const attention = { code: 'forbidden', message: 'm', since: after(70) } as const;
    const trail = { ...trailOf('Pending', 'Driving'), outcome: 'stopped', pushed: true, attention } as const;
    const now = leftBy();
    now.trail.deliveries = { received: 2, duplicate: 0 };
    const joined = goOnFrom(leftBy({ trail: { ...trail, deliveries: { received: 5, duplicate: 1 } } }), now);
    expect(joined.trail).toEqual({ ...trail, outcome: null, deliveries: { received: 7, duplicate: 1 } });
  });

  it('leaves an end at the service an end', () => {
    const { trail } = goOnFrom(leftBy({ trail: trailOf('Driving', 'Cancelled') }), leftBy());
    expect(trail).toMatchObject({ terminal: true, outcome: 'cancelled', status: 'Cancelled' });
  });

  it('follows what its own callers say first, and what those of the earlier run said where they say nothing', () => {
    const earlier = leftBy({ input: inputOf({ reference: 'old', scheduledAt: after(60), followForMs: 2_000 }) });
    const { input, trail } = goOnFrom(earlier, leftBy({ input: inputOf({ reference: 'new', followForMs: 9_000 }) }));
    expect(input).toEqual(inputOf({ reference: 'new', scheduledAt: after(60), followForMs: 9_000 }));
    expect(trail.reference).toBe('new');
    expect(goOnFrom(earlier, leftBy()).trail.reference).toBe('old');
    expect('reference' in goOnFrom(leftBy(), leftBy()).trail).toBe(false);
  });

  it('is not cut short by how long an expired run was to follow', () => {
    const input = inputOf({ followForMs: 2_000 });
    const trail = { ...trailOf('Driving'), outcome: 'expired' } as const;
    expect(goOnFrom(leftBy({ input, trail }), leftBy()).input).toEqual(inputOf());
    expect(goOnFrom(leftBy({ input }), leftBy()).input).toEqual(input);
  });

  it('knows the deliveries of both, and those that came in both as duplicates', () => {
    const [a, b, c] = [claim('Waiting'), claim('Driving'), claim()];
    const now = leftBy({ claims: [b, c], seenDeliveries: [b.deliveryId, c.deliveryId, ''] });
    now.trail.deliveries = { received: 3, duplicate: 0 };
    const joined = goOnFrom(leftBy({ claims: [a, b], seenDeliveries: [a.deliveryId, b.deliveryId, ''] }), now);
    expect(joined.claims).toEqual([a, b, b, c]);
    expect(joined.seenDeliveries).toEqual([a.deliveryId, b.deliveryId, '', c.deliveryId]);
    expect(joined.trail.deliveries).toEqual({ received: 3, duplicate: 1 });
  });

  it('keeps no more of them than any run', () => {
    const claims = Array.from({ length: 1_000 }, () => claim());
    const seenDeliveries = claims.map(({ deliveryId }) => deliveryId);
    const last = claim();
    const joined = goOnFrom(leftBy({ claims, seenDeliveries }), leftBy({ claims: [last], seenDeliveries: ['x'] }));
    expect([joined.claims.length, joined.claims.at(-1)]).toEqual([1_000, last]);
    expect([joined.seenDeliveries.length, joined.seenDeliveries.at(-1)]).toEqual([1_000, 'x']);
  });

  it('tells the receivers of both, fifty in all, and names the others', () => {
    const many = Array.from({ length: 49 }, (_, index) => receiver(`trip/${index}`));
    const earlier = leftBy({ receivers: many, leftOut: ['z'] });
    const joined = goOnFrom(earlier, leftBy({ receivers: [receiver('trip/3'), receiver('a'), receiver('b')] }));
    expect(joined.receivers).toEqual([...many, receiver('a')]);
    expect(joined.leftOut).toEqual(['z', 'b by signal s: more than 50 receivers']);
  });
});

const table: [OrderEnd, asked: boolean, askedAgain: boolean, delivery: ReturnType<typeof afterEnd>][] = [
  ['completed', false, false, 'late'],
  ['cancelled', false, false, 'late'],
  ['rejected', false, false, 'late'],
  ['stopped', false, true, 'followingStopped'],
  ['expired', false, true, 'again'],
  ['unreadable', false, true, 'endUnreadable'],
  ['brokenOff', true, true, 'again'],
];

describe('an order whose following has ended', () => {
  it.each(table)('as %s is followed again: asked %s, asked to do it again %s, by a delivery %s', (end, ...verdicts) => {
    expect([isFollowedAgain(end, false), isFollowedAgain(end, true), afterEnd(end)]).toEqual(verdicts);
  });
});

const [one, other] = [receiver('trip/1'), receiver('trip/2')];
const hook = { url: 'https://hooks.example/secret' };

describe('receivers that are added to an order', () => {
  it('are added once, however often they come and in whatever order their fields are', () => {
    const turned = { signal: 's', workflowId: 'trip/1' };
    expect(addedReceivers([one], [turned, other, other, hook, hook])).toEqual({ added: [other, hook], leftOut: [] });
  });

  it('are taken as far as there is room for fifty, and the rest is named, without what may be a secret', () => {
    const present = Array.from({ length: 48 }, (_, index) => receiver(`trip/${index + 10}`));
    const { added, leftOut } = addedReceivers(present, [one, other, hook, receiver('trip/3')]);
    expect({ added, leftOut }).toEqual({ added: [one, other], leftOut: [hook, receiver('trip/3')] });
    const lines = withLeftOut([], leftOut);
    expect(lines).toEqual(['hooks.example: more than 50 receivers', 'trip/3 by signal s: more than 50 receivers']);
    expect(withLeftOut(lines, leftOut), 'each once').toEqual(lines);
    expect(withLeftOut(lines, [...present, one])).toHaveLength(20);
  });
});

it.each([
  [{ workflowId: 'ride/partner/trip-9', signal: 'rideOrderChanged' }, true],
  [{ workflowId: 'ride/partner/trip-9', signal: 'rideChanged' }, false],
  [{ workflowId: 'ride/business/trip-9', signal: 'rideOrderChanged' }, false],
  [{ workflowId: 'ride/partner/', signal: 'rideOrderChanged' }, false],
  [{ workflowId: 'order/partner/9', signal: 'rideOrderChanged' }, false],
  [hook, false],
])('a ride of an account that waits for its order is known by its id and its signal: %j %s', (receiver, isRide) => {
  expect(isRideReceiver(receiver, toAccountName('partner'))).toBe(isRide);
});
