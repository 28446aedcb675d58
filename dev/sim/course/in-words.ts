/** Such as `1 h 2 min 3.004 s`. */
export function durationText(ms: number): string {
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor(ms / 60_000) % 60;
  const seconds = (ms % 60_000) / 1_000;
  const parts = [hours && `${hours} h`, minutes && `${minutes} min`, seconds && `${seconds} s`];
  return parts.filter(Boolean).join(' ') || '0 s';
}

/** Something that happens at a time after the start. */
export interface Line {
  atMs: number;
  text: string;
}

/** One line for each thing that happens, in the order of time. */
export const timetable = (lines: readonly Line[]): string[] =>
  lines
    .toSorted((one, other) => one.atMs - other.atMs)
    .map(({ atMs, text }) => `${durationText(atMs).padEnd(22)} ${text}`);
