import { describe, expect, it } from 'vitest';
import { toAccountName } from '../../../src/domain/keys.js';
import { addedReceivers, withLeftOut } from '../../../src/domain/order/earlier-run.js';
import { isRideReceiver } from '../../../src/domain/workflow-ids.js';

const one = { workflowId: 'trip/1', signal: 'rideChanged' };
const other = { workflowId: 'trip/2', signal: 'rideChanged' };
const hook = { url: 'https://hooks.example/secret' };

describe('receivers that are added to an order', () => {
  it('are told once, however often they are added and in whatever order their fields come', () => {
    const turned = { signal: 'rideChanged', workflowId: 'trip/1' };
    expect(addedReceivers([one], [turned, other, other, hook, hook])).toEqual({ added: [other, hook], leftOut: [] });
  });

  it('are taken as far as there is room for fifty, and the rest is named, without what may be a secret', () => {
    const present = Array.from({ length: 48 }, (_, i) => ({ workflowId: `trip/${i + 10}`, signal: 's' }));
    const { added, leftOut } = addedReceivers(present, [one, other, hook, { workflowId: 'trip/3', signal: 's' }]);
    expect({ added, leftOut }).toEqual({ added: [one, other], leftOut: [hook, { workflowId: 'trip/3', signal: 's' }] });
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
