import { readFileSync } from 'node:fs';
import type { Site } from './site.js';

/** Ticks per second of the times in `/proc`, the same on all Linux systems that Node runs on. */
const ticksPerSecond = 100;

/** CPU milliseconds, of the program and of the system for it, in the text of `/proc/<pid>/stat`. NaN if it has another form. */
export function parseCpuMs(stat: string): number {
  // The name of the program stands in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = Number.NaN, system = Number.NaN] = fields.slice(11, 13).map(Number); // proc(5): utime and stime
  return ((user + system) * 1_000) / ticksPerSecond;
}

/** CPU milliseconds that a process has used since it started. NaN for null, and where the system does not say. */
export function cpuMsOf(pid: number | null): number {
  try {
    return pid === null ? Number.NaN : parseCpuMs(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return Number.NaN;
  }
}

/** What processes used in some time, CPU in milliseconds. */
export interface Usage {
  seconds: number;
  serverMs: number;
  workerMs: number;
  benchMs: number;
}

/** Measures while something goes on. */
export async function usageWhile({ temporal, workers }: Site, what: () => Promise<unknown>): Promise<Usage> {
  const now = (): Usage => ({
    seconds: performance.now() / 1_000,
    serverMs: cpuMsOf(temporal.pid),
    workerMs: cpuMsOf(workers[0]?.pid ?? null),
    benchMs: cpuMsOf(process.pid),
  });
  const before = now();
  await what();
  const after = now();
  const of = (key: keyof Usage): number => after[key] - before[key];
  return { seconds: of('seconds'), serverMs: of('serverMs'), workerMs: of('workerMs'), benchMs: of('benchMs') };
}
