import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

export interface OpenLoad {
  perSecond: number;
  seconds: number;
}

export interface LoadResult {
  /** Milliseconds from the due time of each request to its answer, sorted. */
  latencies: Float64Array;
  /** Counts of answers by status; 0: a broken connection. */
  statuses: Map<number, number>;
  seconds: number;
}

/**
 * Sends requests on a fixed schedule. A slow answer delays no due time, and latency counts from the due time. Throws the first
 * error of `send` once all requests have ended.
 */
export async function openLoad(
  { perSecond, seconds }: OpenLoad,
  send: (index: number) => Promise<number>,
): Promise<LoadResult> {
  const count = Math.round(perSecond * seconds);
  const latencies = new Float64Array(count);
  const statuses = new Map<number, number>();
  const under = new Set<Promise<void>>(); // only requests in flight, since garbage would cost pauses
  const errors: unknown[] = [];
  const begin = performance.now();

  async function one(index: number): Promise<void> {
    const status = await send(index);
    latencies[index] = performance.now() - (begin + (index * 1_000) / perSecond);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  for (let started = 0; started < count && errors.length === 0; ) {
    const due = Math.min(count, Math.floor(((performance.now() - begin) * perSecond) / 1_000) + 1);
    for (; started < due; started += 1) {
      const call = one(started)
        .catch((error: unknown) => void errors.push(error))
        .finally(() => under.delete(call));
      under.add(call);
    }
    await sleep(1);
  }
  await Promise.all(under);
  if (errors.length > 0) throw errors[0];
  return { latencies: latencies.sort(), statuses, seconds: (performance.now() - begin) / 1_000 };
}

/** The value that this share of the sorted numbers does not exceed. */
export const quantile = (sorted: Float64Array, share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
