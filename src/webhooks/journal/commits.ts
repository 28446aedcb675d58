import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JournalKey } from './entries.js';
import { JournalError } from './entries.js';

/** One change. All that are asked for while one commit runs share the next. */
export type JournalChange = { put: JournalKey; value: Buffer } | { remove: readonly JournalKey[] };

interface Waiting {
  change: JournalChange;
  resolve(): void;
  reject(error: Error): void;
}

/** Changes on their way to the disk. */
export interface JournalCommits {
  /** Resolves when it is on the disk. Rejects with `JournalUnwritable`; then it may still get there. */
  add(change: JournalChange): Promise<void>;
  /** A commit takes too long: nothing may be added until it ends. */
  isStalled(): boolean;
  /** Resolves when nothing is on its way, or at a stall. */
  settled(): Promise<void>;
}

export interface JournalCommitsOptions {
  stallMs: number;
  /** Is never called again before it has ended, nor after it has rejected, until the owner adds something new. */
  commit(changes: readonly JournalChange[]): Promise<void>;
  /** A commit failed. Gives the reason to reject what is waiting with. */
  onFailure(error: unknown): string;
}

/** Below a second of latency whatever waits. */
const maxChangesPerCommit = 10_000;
export const stalled = 'the disk does not answer';
export const unwritable = (why: string): JournalError =>
  new JournalError('JournalUnwritable', `the journal cannot be written: ${why}`);

/** Keeps one commit in flight; so one flush to the disk serves all that came meanwhile. */
export function createJournalCommits({ stallMs, commit, onFailure }: JournalCommitsOptions): JournalCommits {
  let queue: Waiting[] = [];
  let isStalled = false;
  let running: Promise<void> | null = null;
  let onStall: () => void = () => undefined;

  function rejectAll(batch: readonly Waiting[], why: string): void {
    const error = unwritable(why);
    for (const { reject } of [...batch, ...queue.splice(0)]) reject(error);
  }

  /** What to do for those who waited, once the next commit is on its way. */
  async function commitBatch(batch: readonly Waiting[]): Promise<() => void> {
    const stall = setTimeout(() => {
      isStalled = true;
      rejectAll(batch, stalled);
      onStall();
    }, stallMs);
    try {
      await commit(batch.map(({ change }) => change));
      return () => {
        for (const { resolve } of batch) resolve();
      };
    } catch (error) {
      rejectAll(batch, onFailure(error));
      return () => undefined;
    } finally {
      clearTimeout(stall);
      isStalled = false;
    }
  }

  async function run(): Promise<void> {
    let tellBefore: () => void = () => undefined;
    while (queue.length > 0) {
      await nextTurn(); // requests that were read in one go share a commit
      const batch = queue.slice(0, maxChangesPerCommit);
      queue = queue.slice(maxChangesPerCommit);
      const committing = commitBatch(batch);
      tellBefore(); // answers are written while the disk works
      tellBefore = await committing;
    }
    running = null;
    tellBefore();
  }

  return {
    add: (change) =>
      new Promise((resolve, reject) => {
        queue.push({ change, resolve, reject });
        running ??= run();
      }),
    isStalled: () => isStalled,
    async settled() {
      if (isStalled) return;
      const stalling = new Promise<void>((resolve) => {
        onStall = resolve;
      });
      await Promise.race([running, stalling]);
    },
  };
}
