import { setImmediate as nextTurn } from 'node:timers/promises';
import { JournalError, type JournalKey } from './entries.js';

/** One change. All changes that arrive during a commit share the next one. */
export type JournalChange = { put: JournalKey; value: Buffer } | { remove: readonly JournalKey[] };

interface Waiting {
  change: JournalChange;
  resolve(): void;
  reject(error: Error): void;
}

/** Changes on their way to the disk. */
export interface JournalCommits {
  /** Resolves when the change is on the disk. Rejects with `JournalUnwritable`; the change may then still reach the disk. */
  add(change: JournalChange): Promise<void>;
  /** A commit takes too long. Until it ends, add no changes. */
  isStalled(): boolean;
  /** Resolves when no change is pending, or at a stall. */
  settled(): Promise<void>;
}

export interface JournalCommitsOptions {
  stallMs: number;
  /** Runs once at a time. After it has rejected, it runs again only for new changes. */
  commit(changes: readonly JournalChange[]): Promise<void>;
  /** A commit failed. Gives the reason for the rejection of all pending changes. */
  onFailure(error: unknown): string;
}

/** Keeps a commit below a second. */
const maxChangesPerCommit = 10_000;
export const stalled = 'the disk does not answer';
export const unwritable = (why: string): JournalError =>
  new JournalError('JournalUnwritable', `the journal cannot be written: ${why}`);

/** Keeps one commit in flight, so that one flush to the disk serves all changes that arrived meanwhile. */
export function createJournalCommits({ stallMs, commit, onFailure }: JournalCommitsOptions): JournalCommits {
  let queue: Waiting[] = [];
  let isStalled = false;
  let running: Promise<void> | null = null;
  let onStall: () => void = () => undefined;

  function rejectAll(batch: readonly Waiting[], why: string): void {
    const error = unwritable(why);
    for (const { reject } of [...batch, ...queue.splice(0)]) reject(error);
  }

  /** Gives what to do for the callers of this batch, once the next commit has started. */
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
      await nextTurn(); // requests that arrived together share a commit
      const batch = queue.slice(0, maxChangesPerCommit);
      queue = queue.slice(maxChangesPerCommit);
      const committing = commitBatch(batch);
      tellBefore(); // the callers go on while the disk works
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
