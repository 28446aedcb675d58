/** How many entries were made in each second: enough to know the oldest without looking at the disk. */
export interface JournalAges {
  add(timeMs: number): void;
  remove(timeMs: number): void;
  /** To the second, rounded down; null when there is no entry. */
  oldestAt(): number | null;
}

/** Costs memory per second that has entries, not per entry. Times may come in any order. */
export function createJournalAges(): JournalAges {
  const counts = new Map<number, number>();
  let oldest: number | null = null;

  function findOldest(): number | null {
    let least = Number.POSITIVE_INFINITY;
    for (const second of counts.keys()) least = Math.min(least, second);
    return counts.size === 0 ? null : least;
  }

  return {
    add(timeMs) {
      const second = Math.floor(timeMs / 1_000);
      counts.set(second, (counts.get(second) ?? 0) + 1);
      if (oldest !== null && second < oldest) oldest = second;
    },
    remove(timeMs) {
      const second = Math.floor(timeMs / 1_000);
      const count = counts.get(second) ?? 0;
      if (count > 1) counts.set(second, count - 1);
      else counts.delete(second);
      if (count <= 1 && second === oldest) oldest = null; // looked for only when asked
    },
    oldestAt() {
      oldest ??= findOldest();
      return oldest === null ? null : oldest * 1_000;
    },
  };
}
