import { describe, expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { isUrlReceiver } from '../../../src/domain/notify/receivers.js';
import {
  addedReceivers,
  afterEnd,
  atStart,
  type FollowedOrder,
  goOnFrom,
  isFollowedAgain,
  type OrderEnd,
  parseRunLeft,
  withDeliveries,
  withObservation,
} from '../../../src/domain/order/earlier-run.js';
import { isRideReceiver } from '../../../src/domain/workflow-ids.js';
import { after, claim, inputOf, reading, trailOf } from './trails.js';

const receiver = (name: string) => ({ workflowId: name, signal: 's' });
const [one, other] = [receiver('trip/1'), receiver('trip/2')];
const hook = { url: 'https://hooks.example/secret' };
const leftBy = (more: Partial<FollowedOrder> = {}): FollowedOrder => ({ ...atStart(inputOf(), after(9_000)), ...more });

describe('what comes to a run', () => {
  it('is counted, known again, and kept', () => {
    const [a, b] = [claim('Waiting'), claim()];
    const { trail, claims, seenDeliveries } = withDeliveries(withDeliveries(leftBy(), [a, b, a]), [b]);
    expect(trail).toMatchObject({ pushed: false, deliveries: { received: 4, duplicate: 2 } });
    expect(claims).toEqual([a, b, a, b]);
    expect(seenDeliveries).toEqual([a.deliveryId, b.deliveryId]);
  });
});

it('a reading answers the deliveries that led to it, and trouble answers none', () => {
  const [a, b] = [claim('Waiting'), claim()];
  const before = { trail: trailOf('Pending'), claims: [a, b] };
  expect(withObservation(before, reading('Waiting'), [a]).claims).toEqual([b]);
  expect(withObservation(before, { kind: 'unknownOrder', reads: 1 }, [a]).claims).toEqual([a, b]);
});

it('what was left of a run is refused under its name', () => {
  expect(() => parseRunLeft({})).toThrow(/^left\.trail: must be a JSON object$/);
});

it('a run keeps the receivers that were left to it beside those of its caller', () => {
  const left = { ...leftBy(), receivers: [one] };
  expect(atStart(inputOf({ notify: [other] }), after(1), left).receivers).toEqual([one, other]);
  expect([one, hook].map(isUrlReceiver)).toEqual([false, true]);
});

describe('an order that is followed again', () => {
  const goOn = (ended: FollowedOrder, more: Parameters<typeof inputOf>[0] = {}, end: OrderEnd = 'stopped') => {
    const { input, left } = goOnFrom(ended, end, inputOf(more));
    return atStart(input, after(9_999), parseRunLeft(JSON.parse(JSON.stringify(left))));
  };

  it('has the trail, the counts and the open deliveries of its former run, but no driver', () => {
    const trail = { ...trailOf('Pending', 'Driving'), details: { driver: { name: 'Ada' }, supplier: 'S' } };
    const [open, unreadable] = [claim('Waiting'), { ...claim(), deliveryId: '' }];
    const ended = { ...leftBy(), ...withDeliveries({ trail, claims: [], seenDeliveries: [] }, [open, unreadable]) };
    const next = goOn(ended);
    expect(next.trail).toEqual({ ...ended.trail, details: { supplier: 'S' } });
    expect(next.claims).toEqual([open]);
    expect(withDeliveries(next, [open]).trail.deliveries).toEqual({ received: 3, duplicate: 1 });
  });

  it('follows what its own caller says first, and what those of the former run said where it says nothing', () => {
    const ended = leftBy({ input: inputOf({ reference: 'old', scheduledAt: after(60), followForMs: 2_000 }) });
    const { input, trail } = goOn(ended, { reference: 'new', followForMs: 9_000 });
    expect(input).toEqual(inputOf({ reference: 'new', scheduledAt: after(60), followForMs: 9_000 }));
    expect(trail.reference).toBe('new');
    expect(goOn(ended).trail.reference).toBe('old');
    expect('reference' in goOn(leftBy()).trail).toBe(false);
  });

  it('is not cut short by how long an expired run was to follow', () => {
    const ended = leftBy({ input: inputOf({ followForMs: 2_000 }) });
    expect(goOn(ended, {}, 'expired').input).toEqual(inputOf());
    expect(goOn(ended, {}, 'brokenOff').input).toEqual(inputOf({ followForMs: 2_000 }));
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

it.each(table)(
  'an order whose following has ended as %s is followed again: asked %s, asked to do it again %s, by a delivery %s',
  (end, ...verdicts) => {
    expect([isFollowedAgain(end, false), isFollowedAgain(end, true), afterEnd(end)]).toEqual(verdicts);
  },
);

describe('receivers that are added to an order', () => {
  it('are added once, however often they come and in whatever order their fields are', () => {
    const turned = { signal: 's', workflowId: 'trip/1' };
    expect(addedReceivers([one], [turned, other, other, hook, hook])).toEqual([other, hook]);
  });

  it('are taken as far as there is room for fifty', () => {
    const present = Array.from({ length: 48 }, (_, index) => receiver(`trip/${index + 10}`));
    expect(addedReceivers(present, [one, other, hook, receiver('trip/3')])).toEqual([one, other]);
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
