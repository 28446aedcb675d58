import { describe, expect, it } from 'vitest';
import { isTokenRequest } from '../../dev/sim/world/service.js';
import { iso } from '../../src/domain/instant.js';
import { toScope } from '../../src/domain/keys.js';
import type { FollowOrderInput } from '../../src/domain/order/input.js';
import type { OrderTrail } from '../../src/domain/order/trail.js';
import { emptyLease } from '../../src/domain/token-lease.js';
import { accessTokenId } from '../../src/domain/workflow-ids.js';
import { orderTrailQuery } from '../../src/workflows/messages.js';
import { deliver, deliveryOf, newDelivery } from '../support/delivery/deliveries.js';
import { eventsOf } from '../support/runs.js';
import { hour, type Script, type SimulatedRun, startSimulatedStack } from '../support/sim/stack.js';

const minute = 60_000;
const notFound = { errors: [{ code: 'not_found', title: 'No such order' }] };
const trailOf = (run: SimulatedRun): Promise<OrderTrail> => run.query(orderTrailQuery);
/** `Driving` until half an hour after the trouble, which begins after a minute and lasts an hour. */
const interrupted: Script = [
  ['Driving', 0],
  ['Completed', 91 * minute],
];

describe('trouble of an hour', () => {
  it.each([
    ['upstreamUnavailable', 10, 503, {}],
    ['unreadableStatus', 10, 200, { body: { errors: [{ code: 'internal', title: 'Trouble' }] } }],
    ['orderNotFound', 10, 404, { body: notFound }],
    ['forbidden', 2, 403, {}], // a person must repair it, so it is shown at once
  ])(
    'is shown as %s after %i minutes, costs less than three calls a minute, and clears itself',
    async (code, minutes, status, more) => {
      const stack = startSimulatedStack();
      const run = await stack.follow(interrupted);
      await stack.sleep(minute);
      stack.refuses(hour, status, more);
      const from = stack.world.scheduler.now;
      await deliver(run, newDelivery());
      await stack.sleep(minutes * minute);
      expect(await trailOf(run)).toMatchObject({ attention: { code }, status: 'Driving', terminal: false });
      const trail = await run.result();
      expect(trail).toMatchObject({ outcome: 'completed', attention: null });
      expect(trail.timeline.map((entry) => entry.status)).toEqual(['Driving', 'Completed']);
      expect((await eventsOf(run)).length).toBeLessThan(60);
      expect(stack.calls().filter((at) => at > from && at < from + 55 * minute).length).toBeLessThan(3 * 55);
    },
  );

  it('is shown also if the service cannot be reached', async () => {
    const stack = startSimulatedStack();
    const run = await stack.follow(interrupted);
    await stack.sleep(minute);
    stack.world.interference.begin({ link: 'service', fails: 'requestLost', share: 1, forMs: hour });
    await deliver(run, newDelivery());
    await stack.sleep(10 * minute);
    expect(await trailOf(run)).toMatchObject({ attention: { code: 'upstreamUnavailable' }, status: 'Driving' });
    expect(await run.result()).toMatchObject({ outcome: 'completed', attention: null });
  });
});

it('nothing is sent before Retry-After has passed, and attention shows at once until when', async () => {
  const stack = startSimulatedStack();
  const run = await stack.follow([
    ['Driving', 0],
    ['Completed', 2 * minute],
  ]);
  await stack.sleep(minute);
  stack.refuses(30_000, 429, { afterMs: 9 * minute });
  const from = stack.world.scheduler.now;
  await deliver(run, newDelivery());
  await stack.sleep(30_000);
  const [refusedAt = 0] = stack.calls().filter((at) => at > from);
  await stack.sleep(minute);
  const until = expect.stringMatching(/ Nothing is sent until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$/);
  expect(await trailOf(run)).toMatchObject({ attention: { code: 'upstreamUnavailable', message: until } });
  expect(await run.result()).toMatchObject({ outcome: 'completed', attention: null });
  const [, next = 0] = stack.calls().filter((at) => at >= refusedAt);
  expect(next - refusedAt).toBeGreaterThanOrEqual(9 * minute);
  expect(next - refusedAt).toBeLessThan(9 * minute + 15_000);
});

describe('a token that the service refuses', () => {
  it.each([
    ['credentialsRejected', 'invalid_client'],
    ['scopeRejected', 'invalid_scope'],
    ['grantRejected', 'invalid_grant'],
  ])(
    'is shown as %s with a remedy, asked for at most once a minute, and the order resumes by itself',
    async (code, error) => {
      const stack = startSimulatedStack();
      stack.refuses(30 * minute, 401, { body: { error }, isToken: true });
      const run = await stack.follow([['Completed', 0]]);
      await stack.sleep(10 * minute);
      const message = expect.stringMatching(/check/i);
      expect(await trailOf(run)).toMatchObject({ status: null, attention: { code, message } });
      expect(await run.result()).toMatchObject({ outcome: 'completed', attention: null });
      const requests = stack.calls(isTokenRequest);
      expect(requests.length).toBeGreaterThan(20);
      const gaps = requests.slice(1).map((at, index) => at - (requests[index] ?? 0));
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(minute);
    },
  );

  it('is forgotten by a lease that no caller asks again, whose run ends', async () => {
    const { account, world, start } = startSimulatedStack();
    const key = { account, scope: toScope(''), credentialId: '0123456789abcdef' };
    const retryAt = iso(world.scheduler.now + minute);
    const failure = { code: 'credentialsRejected' as const, message: 'too fast', at: retryAt, retryAt, isPaced: true };
    const run = await start('accessToken', accessTokenId(key), [{ ...key, lease: { ...emptyLease, failure } }]);
    expect(await run.result()).toMatchObject({ failure: null });
  });
});

describe('an order that the service does not find', () => {
  it('ends as OrderNotFound once another order of the account was read', async () => {
    const stack = startSimulatedStack();
    await stack.follow([['Driving', 0]]);
    const from = stack.world.scheduler.now;
    const run = await stack.follow(null);
    await expect(run.result()).rejects.toMatchObject({
      cause: { type: 'OrderNotFound', message: expect.stringContaining('Check the id') },
    });
    expect(stack.world.scheduler.now - from).toBeGreaterThanOrEqual(5 * minute);
    expect(stack.world.scheduler.now - from).toBeLessThan(10 * minute);
  });

  it.each([3, 30, 60])('ends right though the service finds no order for %i minutes', async (minutes) => {
    const stack = startSimulatedStack();
    stack.refuses(minutes * minute, 404, { body: notFound });
    const script: Script = [
      ['Driving', 0],
      ['Completed', (minutes + 2) * minute],
    ];
    const runs: SimulatedRun[] = [];
    for (let number = 0; number < 20; number += 1) runs.push(await stack.follow(script));
    for (let times = 0; times < 3; times += 1) {
      for (const run of runs.slice(10)) await deliver(run, deliveryOf('Driving'));
      await stack.sleep((minutes * minute) / 3);
    }
    for (const run of runs) expect(await run.result()).toMatchObject({ outcome: 'completed', attention: null });
  });

  const notify = [{ workflowId: 'ride/business/trip-9', signal: 'rideOrderChanged' }];
  it.each<[string, Partial<FollowOrderInput>, (run: SimulatedRun) => Promise<void> | void]>([
    ['a ride follows it from the start', { notify }, () => undefined],
    ['a ride joins', {}, (run) => run.signal('followRequested', { notify })],
    ['a delivery names it', {}, (run) => deliver(run, newDelivery())],
  ])('is followed for as long as it takes when %s', async (_, input, vouch) => {
    const stack = startSimulatedStack();
    stack.refuses(30 * minute, 404, { body: notFound });
    const run = await stack.follow([['Completed', 0]], input);
    await stack.sleep(minute);
    await vouch(run);
    expect(await run.result()).toMatchObject({ outcome: 'completed', attention: null });
  });
});
