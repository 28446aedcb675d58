import type { Client } from '@temporalio/client';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { beginFollowing } from '../../src/temporal/starts.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A client that records when it signals which run. */
function recorded() {
  const signals: { workflowId: string; at: number; request: object }[] = [];
  const signalWithStart = async (_: string, sent: { workflowId: string; signalArgs: [object] }) =>
    void signals.push({ workflowId: sent.workflowId, at: Date.now(), request: sent.signalArgs[0] });
  const client = { workflow: { signalWithStart } } as unknown as Client;
  const follow = (orderId: string, reference = 'trip-9') => {
    const input = { account: toAccountName('business'), orderId: toOrderId(orderId), reference };
    return beginFollowing(client, { input, taskQueue: 'q' });
  };
  return { signals, follow };
}

it('a program that asks again and again to follow an order sends few signals, and each call is answered', async () => {
  const { signals, follow } = recorded();
  const begunAt = Date.now();
  const calls: Promise<unknown>[] = [];
  for (let second = 0; second < 600; second += 1) {
    for (let call = 0; call < 10; call += 1) calls.push(follow('42'));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  await vi.advanceTimersByTimeAsync(31_000);
  await Promise.all(calls);
  expect(signals.filter(({ at }) => at < begunAt + 600_000).length).toBeLessThanOrEqual(40);
});

it('a request that waits for its turn is sent as it is, and other orders do not wait', async () => {
  const { signals, follow } = recorded();
  for (let call = 0; call < 10; call += 1) await follow('42');
  const waiting = [follow('42', 'trip-10'), follow('42', 'trip-11')];
  await follow('43');
  expect(signals).toHaveLength(11);
  await vi.advanceTimersByTimeAsync(6_000);
  await Promise.all(waiting);
  expect(signals.slice(11).map(({ request }) => request)).toEqual([{ reference: 'trip-10' }, { reference: 'trip-11' }]);
});
