import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './stage.js';

/** How the deployment serves everybody else in a stretch of time. */
export interface Served {
  /** The mean over all seconds of the age of the oldest read of a followed order. */
  oldestReadMs: number;
  /** The longest answer of the ingress to a request that costs it nothing. */
  silenceMs: number;
}

const probeEveryMs = 50;
const statuses = ['Driving', 'Waiting', 'Confirmed'] as const;
const changeEveryMs = 500;

/** Watches for so long, and has the service announce changes of the orders meanwhile. */
export async function watchFor(
  forMs: number,
  { sandbox, ingressUrl }: Stage,
  orders: ReadonlyMap<string, Set<string>>,
): Promise<Served> {
  const beganAt = Date.now();
  const until = performance.now() + forMs;
  const ids = [...orders.keys()];
  let silenceMs = 0;
  const probe = async (): Promise<void> => {
    while (performance.now() < until) {
      const began = performance.now();
      await fetch(`${ingressUrl}/healthz`, { signal: AbortSignal.timeout(30_000) }).then((answer) => answer.text());
      silenceMs = Math.max(silenceMs, performance.now() - began);
      await sleep(probeEveryMs);
    }
  };
  const change = async (): Promise<void> => {
    for (let n = 0; performance.now() < until; n += 1) {
      const orderId = ids[(n * 7) % ids.length] ?? '';
      const status = statuses[n % statuses.length] ?? 'Driving';
      orders.get(orderId)?.add(status);
      await sandbox.setStatus('business', orderId, status);
      await sleep(changeEveryMs);
    }
  };
  await Promise.all([probe(), change()]);
  return { silenceMs: Math.round(silenceMs), oldestReadMs: await oldestRead(sandbox, new Set(ids), beganAt) };
}

async function oldestRead(sandbox: Stage['sandbox'], ids: ReadonlySet<string>, from: number): Promise<number> {
  const reads = new Map<string, number[]>([...ids].map((id) => [id, []]));
  for (const { at, orderId = '' } of await sandbox.ledger()) reads.get(orderId)?.push(Date.parse(at));
  const ages: number[] = [];
  for (let at = from; at < Date.now(); at += 1_000)
    ages.push(Math.max(...[...reads.values()].map((of) => at - (of.findLast((read) => read <= at) ?? from))));
  return Math.round(ages.reduce((sum, age) => sum + age, 0) / Math.max(1, ages.length));
}
