import { describe, expect, it } from 'vitest';
import type { BusinessOperation } from '../../src/domain/call.js';
import { toOrderId } from '../../src/domain/keys.js';
import { businessCallStart, rideStart } from '../../src/temporal/starts.js';
import { newRide } from '../dev/sandbox/booking-calls.js';
import { attributeOf } from '../support/runs.js';
import { day, type SimulatedRun, type SimulatedStack, startSimulatedStack } from '../support/sim/stack.js';

const second = 1_000;
const minute = 60 * second;

/** Starts a call of this operation. */
async function call({ start, account, config }: SimulatedStack, operation: BusinessOperation): Promise<SimulatedRun> {
  const more = operation === 'createOrder' ? { body: newRide() } : {};
  const about = operation === 'cancelOrder' ? { orderId: toOrderId('4711') } : {};
  const input = { account, operation, key: 'k1', ...more, ...about };
  const { workflowId, args } = businessCallStart(input, config.taskQueue);
  return await start('businessCall', workflowId, args);
}

const unavailable = expect.objectContaining({ type: 'Unavailable', nonRetryable: true });

describe('the worker tries a call for a bounded time', () => {
  it.each<[BusinessOperation, number]>([
    ['companySettings', 5],
    ['createOrder', 10],
    ['cancelOrder', 15],
  ])('%s for %i minutes', async (operation, minutes) => {
    const stack = startSimulatedStack();
    // What fails before it is sent may be tried again, a create too.
    stack.world.interference.begin({ link: 'service', fails: 'requestLost', share: 1, forMs: day });
    const run = await call(stack, operation);
    const from = stack.world.scheduler.now;
    await expect(run.result()).rejects.toMatchObject({ cause: unavailable });
    // The run gives up when the next attempt would come too late; attempts are at most 30 s apart.
    const tookMs = stack.world.scheduler.now - from;
    expect(tookMs).toBeGreaterThan((minutes - 1) * minute);
    expect(tookMs).toBeLessThanOrEqual((minutes + 1) * minute);
    expect(stack.calls(() => true).length).toBeGreaterThan(minutes);
  });

  it('and gives up at once when the service asks for a longer wait', async () => {
    const stack = startSimulatedStack();
    stack.refuses(day, 503, { afterMs: 60 * minute });
    const run = await call(stack, 'companySettings');
    const from = stack.world.scheduler.now;
    await expect(run.result()).rejects.toMatchObject({ cause: unavailable });
    expect(stack.world.scheduler.now - from).toBeLessThan(minute);
    expect(stack.calls()).toHaveLength(1);
  });

  it('and names the missing worker if none is left for another attempt', async () => {
    const stack = startSimulatedStack();
    stack.refuses(day, 503);
    const run = await call(stack, 'companySettings');
    await stack.sleep(10 * second);
    stack.world.workers.kill(10 * minute);
    const message = expect.stringContaining('no worker finished it in time');
    await expect(run.result()).rejects.toMatchObject({ cause: { type: 'Unavailable', message } });
  });
});

/** The attention of a run, every ten seconds until it has closed. */
async function attentionsOf(stack: SimulatedStack, run: SimulatedRun): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (let isOpen = true; isOpen; isOpen = (await run.describe()).status.name === 'RUNNING') {
    seen.push(await attributeOf(run, 'RideAttention'));
    await stack.sleep(10 * second);
  }
  return seen;
}

describe('a call that takes longer than a minute', () => {
  it('shows that it waits for the service, until it has ended', async () => {
    const stack = startSimulatedStack();
    stack.refuses(day, 503);
    const run = await call(stack, 'companySettings');
    const seen = await attentionsOf(stack, run);
    expect(new Set(seen.slice(0, 5))).toEqual(new Set([null]));
    expect(seen.length).toBeGreaterThan(20);
    expect(new Set(seen.slice(12))).toEqual(new Set(['upstreamUnavailable']));
    expect(await attributeOf(run, 'RideAttention')).toBeNull();
  });

  it('shows it on the ride for which it is made', async () => {
    const stack = startSimulatedStack();
    stack.world.interference.begin({ link: 'service', fails: 'requestLost', share: 1, forMs: day });
    const { workflowId, args } = rideStart(
      { account: stack.account, requestId: 'r1', order: newRide() },
      stack.config.taskQueue,
    );
    const ride = await stack.start('requestRide', workflowId, args);
    const seen = await attentionsOf(stack, ride);
    expect(seen.at(0)).toBeNull();
    expect(seen.at(-2)).toBe('upstreamUnavailable');
    await expect(ride.result()).rejects.toThrow();
    expect(await attributeOf(ride, 'RideAttention')).toBeNull();
  });
});
