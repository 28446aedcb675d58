import type { GroupId } from './journal-keys.js';

/** Which group is next. Every group with entries is in flight, waiting after a failure, or found by this. */
export interface ForwardAgenda {
  /** This group has something to forward. */
  add(id: GroupId): void;
  /** Any group may have something: go through the whole journal (once more). */
  addAll(): void;
  /** The next group that is not `isTaken`. Throws what reading the journal throws; nothing is lost by that. */
  next(isTaken: (id: GroupId) => boolean): GroupId | undefined;
}

const walkStep = 64;
/** More than this are not remembered but found by a walk. */
const maxReady = 10_000;

/**
 * Groups that got a delivery a moment ago, in turn with a walk through the journal in key order: neither a long backlog
 * nor a stream of new deliveries keeps the other waiting, and memory is bounded however long the journal is.
 */
export function createAgenda(groupsAfter: (after: GroupId | null, limit: number) => GroupId[]): ForwardAgenda {
  const ready = new Set<GroupId>();
  let step: GroupId[] = [];
  let cursor: GroupId | null = null;
  let isWalking = false;
  let mustWalkAgain = false;
  let isWalkersTurn = false;

  function addAll(): void {
    if (isWalking) mustWalkAgain = true;
    isWalking = true;
  }

  function takeReady(isTaken: (id: GroupId) => boolean): GroupId | undefined {
    for (const id of ready) {
      ready.delete(id);
      if (!isTaken(id)) return id;
    }
    return undefined;
  }

  function takeWalking(isTaken: (id: GroupId) => boolean): GroupId | undefined {
    while (isWalking) {
      const id = step.shift();
      if (id === undefined) walkOn();
      else if (!isTaken(id) && !ready.has(id)) return id;
    }
    return undefined;
  }

  function walkOn(): void {
    step = groupsAfter(cursor, walkStep);
    cursor = step.at(-1) ?? null;
    if (cursor !== null) return;
    isWalking = mustWalkAgain;
    mustWalkAgain = false;
  }

  return {
    add(id) {
      if (ready.size < maxReady) ready.add(id);
      else if (!ready.has(id)) addAll();
    },
    addAll,
    next(isTaken) {
      isWalkersTurn = !isWalkersTurn;
      if (isWalkersTurn) return takeWalking(isTaken) ?? takeReady(isTaken);
      return takeReady(isTaken) ?? takeWalking(isTaken);
    },
  };
}
