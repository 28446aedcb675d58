import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { toAccountName, toOrderId } from '../../../src/domain/keys.js';
import { followOrderId } from '../../../src/domain/workflow-ids.js';
import { median } from '../../bench/statistics.js';
import type { Plan } from './plan.js';
import { anchorIds } from './plan-work.js';
import type { Stage } from './stage.js';

/** What was looked at all the time, and its medians in three parts of that time. The first part is left out: caches fill. */
export interface Growth {
  what: string;
  middle: number;
  last: number;
}

/** One look at everything that must not grow, by name. */
export type Sample = Record<string, number>;

const megabyte = 2 ** 20;
const perProcess = [
  { what: 'memory, MB', metric: 'process_resident_memory_bytes', unit: megabyte },
  { what: 'heap, MB', metric: 'nodejs_heap_size_used_bytes', unit: megabyte },
  { what: 'handles', metric: 'process_open_fds', unit: 1 },
] as const;
const account = toAccountName('business');
const processes = ['worker-1', 'worker-2', 'ingress'] as const;

/** By so much a median may grow from the middle to the last part: it moves by itself. */
const allowance = { share: 0.1, least: 10 };

/** Looks at the deployment until the time of the plan is over. */
export async function watchGrowth(stage: Stage, { forMs }: Plan, say: (line: string) => void): Promise<Growth[]> {
  const samples: Sample[] = [];
  const everyMs = Math.min(30_000, forMs / 30);
  for (const until = Date.now() + forMs; Date.now() < until; await sleep(everyMs)) {
    const sample = await look(stage);
    if (samples.length % 10 === 0) say(toLine(sample));
    samples.push(sample);
  }
  return growthOf(samples);
}

async function look({ metrics, disk, client }: Stage): Promise<Sample> {
  const ofProcesses = processes.map(async (name) => {
    const text = (await metrics(name)) ?? '';
    return perProcess.map(({ what, metric, unit }) => [`${name}: ${what}`, gaugeOf(text, metric) / unit] as const);
  });
  const ofAnchors = anchorIds.map(async (orderId) => {
    const handle = client.workflow.getHandle(followOrderId({ account, orderId: toOrderId(orderId) }));
    return (await handle.describe()).historyLength;
  });
  return {
    ...Object.fromEntries((await Promise.all(ofProcesses)).flat()),
    'journal, MB': (statSync(join(disk.folder, 'data.mdb')).blocks * 512) / megabyte,
    'events of the longest run': Math.max(...(await Promise.all(ofAnchors))),
  };
}

/** NaN where the process was not up: no median stands on it. */
const gaugeOf = (text: string, metric: string): number =>
  Number(text.match(new RegExp(`^${metric} (.+)$`, 'm'))?.[1] ?? Number.NaN);

const toLine = (sample: Sample): string =>
  Object.entries(sample)
    .map(([what, value]) => `${what} ${Math.round(value)}`)
    .join('; ');

/** The medians of the middle and the last third. */
export function growthOf(samples: readonly Sample[]): Growth[] {
  const third = Math.floor(samples.length / 3);
  const medianOf = (what: string, of: readonly Sample[]): number =>
    median(of.map((sample) => sample[what] ?? Number.NaN).filter(Number.isFinite));
  return Object.keys(samples[0] ?? {}).map((what) => ({
    what,
    middle: medianOf(what, samples.slice(third, -third)),
    last: medianOf(what, samples.slice(-third)),
  }));
}

/** What has grown, or was never seen. */
export const grown = (growth: readonly Growth[]): string[] =>
  growth
    .filter(({ middle, last }) => !(last <= middle + Math.max(middle * allowance.share, allowance.least)))
    .map(({ what, middle, last }) =>
      Number.isFinite(middle + last)
        ? `${what} has grown from ${Math.round(middle)} to ${Math.round(last)}`
        : `${what} was not seen`,
    );
