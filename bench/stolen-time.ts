import { readFileSync } from 'node:fs';

/** Sums over all processors since the machine started, in ticks. */
export interface CpuTimes {
  all: number;
  /** Wanted by this virtual machine, and given to others by its host. */
  stolen: number;
}

/** From the text of `/proc/stat`; undefined where its first line is another. */
export function parseCpuTimes(stat: string): CpuTimes | undefined {
  const [, line] = /^cpu +([\d ]+)/.exec(stat) ?? [];
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softIrq = 0, stolen = 0] = (line ?? '')
    .split(' ')
    .map(Number);
  return line === undefined ? undefined : { all: user + nice + system + idle + wait + irq + softIrq + stolen, stolen };
}

/**
 * Says at each call what share of the processors the host took away since the call before: figures taken then tell of
 * the neighbours, too. Always 0 where the system does not tell.
 */
export function watchStolenTime(read: () => CpuTimes | undefined = readCpuTimes): () => number {
  let before = read();
  return () => {
    const now = read();
    const all = (now?.all ?? 0) - (before?.all ?? 0);
    const stolen = (now?.stolen ?? 0) - (before?.stolen ?? 0);
    before = now;
    return all > 0 ? stolen / all : 0;
  };
}

function readCpuTimes(): CpuTimes | undefined {
  try {
    return parseCpuTimes(readFileSync('/proc/stat', 'utf8'));
  } catch {
    return undefined; // not a Linux
  }
}
