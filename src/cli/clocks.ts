import type { ClockDifference } from '../temporal/server-clock.js';

/** Signed notices allow five minutes, and clocks that a time service keeps differ by milliseconds. */
const mostMs = 3_000;

/** What a person has to know of a clock that differs from ours; null where it agrees. */
export function clockFault(whose: string, { aheadMs, uncertaintyMs }: ClockDifference): string | null {
  if (Math.abs(aheadMs) - uncertaintyMs <= mostMs) return null;
  const difference = `${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
  return `the clock of ${whose} is ${difference} that of this machine: set the wrong one, and run a time service such as chrony on both`;
}
