import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { cpuMsOf, cpuMsOfFamily, postgresPid } from '../../bench/usage.js';
import type { LedgerEntry } from '../../sandbox/ledger.js';
import type { Member } from '../chaos/member.js';
import type { Sample } from '../chaos/soak.js';
import type { Fleet } from './fleet.js';

/** What was seen of a deployment while it ran. */
export interface Seen {
  /** Memory of each part in megabytes, all its processes together. */
  memory: Sample[];
  /** CPU milliseconds of each part. */
  cpuMs: Record<string, number>;
  /** How long it was watched. */
  forMs: number;
  /** Requests to the service. */
  calls: LedgerEntry[];
  /** Instants at which no acknowledged delivery waited in a journal. */
  emptyAt: number[];
}

const everyMs = 5_000;
const callsEveryMs = 30_000;
const sayEveryMs = 120_000;
const megabyte = 2 ** 20;
const pageBytes = 4_096;

/** Looks at memory, CPU, requests and journals all the time. */
export async function openWatching(fleet: Fleet, say: (line: string) => void) {
  const members: Record<string, readonly Member[]> = {
    workers: fleet.workers,
    ingresses: fleet.ingresses,
    desk: [fleet.desk],
    'Temporal servers': fleet.cluster.servers,
    'service of the test': [fleet.service],
  };
  const databases = {
    'PostgreSQL of Temporal': await pidAt(fleet.cluster.postgres.url),
    'PostgreSQL of the store': await pidAt(fleet.store.url),
  };
  const seen: Seen = { memory: [], cpuMs: {}, forMs: 0, calls: [], emptyAt: [] };
  const startedAt = Date.now();
  /** Of processes and of those before them. A kill takes what one has used since the last look. */
  const cpu = new Map<number, { part: string; first: number; last: number }>();
  let isOver = false;

  function lookAtCpu(): void {
    const note = (part: string, pid: number, ms: number): void => {
      const first = cpu.get(pid)?.first ?? (seen.memory.length > 1 ? 0 : ms); // a later process began while we looked
      if (Number.isFinite(ms)) cpu.set(pid, { part, first, last: ms });
    };
    for (const [part, all] of Object.entries(members))
      for (const pid of all.flatMap(pidOf)) note(part, pid, cpuMsOf(pid));
    for (const [part, pid] of Object.entries(databases)) note(part, pid, cpuMsOfFamily(pid));
    note('the test itself', process.pid, cpuMsOf(process.pid));
  }

  async function look(): Promise<void> {
    const waiting = await fleet.waiting();
    if (waiting === 0) seen.emptyAt.push(Date.now());
    const ofPart = ([part, all]: [string, readonly Member[]]) =>
      [part, all.flatMap(pidOf).reduce((sum, pid) => sum + memoryOf(pid), 0)] as const;
    seen.memory.push(Object.fromEntries(Object.entries(members).map(ofPart)));
    lookAtCpu();
  }

  async function readCalls(): Promise<void> {
    for (const call of await fleet.sandbox.resetLedger()) seen.calls.push(call);
  }

  async function run(): Promise<void> {
    for (let looks = 0; !isOver; looks += 1, await sleep(everyMs)) {
      await look();
      if (looks % (callsEveryMs / everyMs) === 0) await readCalls();
      if (looks % (sayEveryMs / everyMs) === 0) say(toLine(seen));
    }
  }

  await fleet.sandbox.resetLedger();
  const running = run();
  return {
    /** Called before a process is killed. */
    lookAtCpu,
    async end(): Promise<Seen> {
      isOver = true;
      await running;
      await readCalls();
      seen.forMs = Date.now() - startedAt;
      const ms = (part: string): number =>
        [...cpu.values()].filter((one) => one.part === part).reduce((sum, { first, last }) => sum + last - first, 0);
      for (const part of new Set([...cpu.values()].map((one) => one.part))) seen.cpuMs[part] = ms(part);
      return seen;
    },
  };
}

const pidOf = (member: Member): number[] => {
  const pid = member.starts().at(-1)?.pid;
  return pid === undefined ? [] : [pid];
};

/** Resident memory in megabytes; 0 once it has ended. */
function memoryOf(pid: number): number {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * pageBytes) / megabyte;
  } catch {
    return 0;
  }
}

async function pidAt(connectionString: string): Promise<number> {
  const client = new Client({ connectionString });
  await client.connect();
  return await postgresPid(client).finally(() => client.end());
}

function toLine({ memory, calls }: Seen): string {
  const now = Object.entries(memory.at(-1) ?? {}).map(([part, megabytes]) => `${part} ${Math.round(megabytes)} MB`);
  return `${calls.length} requests; ${now.join(', ')}`;
}
