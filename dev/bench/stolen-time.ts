import { readFileSync } from 'node:fs';

/** Sums over all processors since the machine started, in ticks. */
export interface CpuTimes {
  all: number;
  /** Time that this virtual machine wanted and its host gave to others. */
  stolen: number;
}

/** Reads the text of `/proc/stat`; undefined if its first line has another form. */
export function parseCpuTimes(stat: string): CpuTimes | undefined {
  const [, line] = /^cpu +([\d ]+)/.exec(stat) ?? [];
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softIrq = 0, stolen = 0] = (line ?? '')
    .split(' ')
    .map(Number);
  return line === undefined ? undefined : { all: user + nice + system + idle + wait + irq + softIrq + stolen, stolen };
}

/**
 * Gives at each call the share of processor time that the host took since the last call. Neighbours then distort the figures.
 * Always 0 on a system that does not report it.
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
    return undefined; // not Linux
  }
}
