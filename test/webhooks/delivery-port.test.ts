import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { toAccountName, toOrderId } from '../../src/domain/keys.js';
import { createThreadedDeliveries, TemporalUnavailable } from '../../src/webhooks/delivery-port.js';

const key = { account: toAccountName('business'), orderId: toOrderId('42') };
const about = { ...key, eventType: 'status_changed', deliveryId: 'd' } as const;

/** A port over threads that answer each call with what this code makes of it; `die` in it ends them. */
function aPort(code: string) {
  const threads: Worker[] = [];
  const deaths: unknown[] = [];
  const start = () => {
    const body = `const { parentPort } = require('node:worker_threads');
      const die = () => { throw new Error('it has died'); };
      parentPort.on('message', ({ id, call, args }) => parentPort.postMessage({ id, ...(${code}) }));`;
    const thread = new Worker(body, { eval: true });
    threads.push(thread);
    return thread;
  };
  const port = createThreadedDeliveries(start, (error) => deaths.push(error));
  onTestFinished(async () => {
    for (const thread of threads) thread.removeAllListeners('exit');
    await Promise.all(threads.map((thread) => thread.terminate()));
  });
  return { port, threads, deaths };
}

it('deliveries that leave through a thread get the answers to their own calls', async () => {
  const { port } = aPort("{ value: call + ' ' + JSON.stringify(args) }");
  const calls = [port.toRun(about, []), port.readSubscription({ ...key, eventType: 'status_changed' })];
  const [first, second] = await Promise.all(calls);
  expect(first).toBe(`toRun [${JSON.stringify(about)},[]]`);
  expect(second).toContain('readSubscription');
});

it('a delivery that fails in a thread tells an outage from a refusal', async () => {
  const out = aPort('{ reason: "no connection", isOut: true }');
  await expect(out.port.toRun(about, [])).rejects.toThrow(TemporalUnavailable);
  const refused = aPort('{ reason: "takes no more signals", isOut: false }');
  const failed = { code: 'ForwardFailed', message: 'takes no more signals' };
  await expect(refused.port.toRun(about, [])).rejects.toMatchObject(failed);
});

it('deliveries fail as an outage when their thread dies, and pass again once another one has started', async () => {
  const { port, threads, deaths } = aPort('call === "ping" ? die() : { value: "signalled" }');
  await expect(Promise.all([port.ping(), port.toRun(about, [])])).rejects.toThrow(TemporalUnavailable);
  expect(deaths).toEqual([expect.objectContaining({ message: 'it has died' })]);
  await expect(port.toRun(about, [])).rejects.toThrow(TemporalUnavailable);
  await expect.poll(() => threads.length).toBe(2);
  expect(await port.toRun(about, [])).toBe('signalled');
});
