import { readdirSync, readFileSync } from 'node:fs';
import type { Client } from 'pg';
import type { Site } from './site.js';

/** Ticks per second of the times in `/proc`, the same on all Linux systems that Node runs on. */
const ticksPerSecond = 100;

/** The numbers after the state of a process in the text of `/proc/<pid>/stat`; proc(5) counts them from 3 on. */
function fieldsOf(stat: string): (field: number) => number {
  // The name of the program stands in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (field) => Number(fields[field - 3] ?? Number.NaN);
}

/** CPU milliseconds, of the program and of the system for it, in the text of `/proc/<pid>/stat`. NaN if it has another form. */
export function parseCpuMs(stat: string): number {
  const field = fieldsOf(stat);
  return ((field(14) + field(15)) * 1_000) / ticksPerSecond;
}

/** CPU milliseconds that a process has used since it started. NaN for null, and where the system does not say. */
export function cpuMsOf(pid: number | null): number {
  try {
    return pid === null ? Number.NaN : parseCpuMs(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return Number.NaN;
  }
}

/** CPU milliseconds of a process, of those that it has started, and of those of them that have ended. */
export function cpuMsOfFamily(pid: number): number {
  const stats = readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readFileSync(`/proc/${name}/stat`, 'utf8')] : [];
    } catch {
      return []; // it has ended
    }
  });
  const ofEnded = (stat: string): number => ((fieldsOf(stat)(16) + fieldsOf(stat)(17)) * 1_000) / ticksPerSecond;
  return stats.reduce((sum, stat) => {
    if (Number.parseInt(stat, 10) === pid) return sum + parseCpuMs(stat) + ofEnded(stat);
    return fieldsOf(stat)(4) === pid ? sum + parseCpuMs(stat) : sum;
  }, 0);
}

/** The process of a PostgreSQL server, of which all others are children. */
export async function postgresPid(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return fieldsOf(readFileSync(`/proc/${rows[0]?.pid}/stat`, 'utf8'))(4);
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
