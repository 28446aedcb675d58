import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Claims, RunName } from '../activities/index.js';
import { monotonicMs } from '../clock.js';
import { type Claim, claimedSignal } from '../workflows/messages.js';
import { decodeAll, type HistoryEvents, msOf, runOf } from './runs.js';

// An activity cannot know from Temporal whether it was tried before: an operator who resets it sets its attempt to 1, and who resets the run
// makes another activity of it. But what stands in a history stays, and a run that was reset names the run that it came from.

const withinMs = 10_000;
/** The server holds a signal back from the history while a task of the run is under way, ten seconds at most. */
const recordedWithinMs = 12_000;

/** See `Claims`. */
export const createClaims = (client: Client, stores = false): Claims => ({
  take: (run, name) => isFirst(client, { run, name, stores }, () => historiesBehind(client, run)),
  // A run that was reset does not name the other runs that were made of the same one: one of these may have done it.
  async takeAsked(run, name, updateId) {
    return await isFirst(client, { run, name: `${name} ${updateId ?? ''}`, stores }, async () => {
      const own = await eventsOf(client, run);
      return !own || wasResetSince(own, updateId) ? [] : [own];
    });
  },
});

/** Claims it, and looks for the first claim of this name in these histories. */
async function isFirst(
  client: Client,
  { run, name, stores }: { run: RunName; name: string; stores: boolean },
  histories: () => Promise<HistoryEvents[]>,
): Promise<boolean> {
  const by = randomUUID();
  const claim = { name, by, ...(stores && { stores }) };
  const isOpen = await runOf(client, run.workflowId, run.runId).signal(claimedSignal, claim, { withinMs });
  if (!isOpen) return false; // the run was reset or ended meanwhile
  const until = monotonicMs() + recordedWithinMs;
  for (let waitMs = 10; ; waitMs *= 2) {
    const read = await histories();
    if (read.length === 0) return false;
    for (const events of read) {
      const first = await firstClaim(client, events, name);
      if (first !== undefined) return first.by === by;
    }
    if (monotonicMs() + waitMs > until) throw new Error('Temporal has not recorded a claim in time');
    await pause(waitMs);
  }
}

/** Undefined: past its retention. */
const eventsOf = (client: Client, { workflowId, runId }: RunName): Promise<HistoryEvents | undefined> =>
  runOf(client, workflowId, runId).events({ withinMs });

/** Was the run reset after it took this update? The server marks an update that it sends again after a reset as admitted. */
function wasResetSince(events: HistoryEvents, updateId: string | null): boolean {
  const reset = events.findLastIndex((event) => event.workflowTaskFailedEventAttributes?.baseRunId);
  if (reset < 0) return false;
  const later = events.slice(reset);
  const isAgain = later.some(
    ({ workflowExecutionUpdateAdmittedEventAttributes: admitted }) => admitted?.request?.meta?.updateId === updateId,
  );
  return (
    isAgain ||
    !later.some((event) => event.workflowExecutionUpdateAcceptedEventAttributes?.protocolInstanceId === updateId)
  );
}

/** See `WasReset` of the activities. A run that was reset may continue as new at once. */
export const createResetReader =
  (client: Client) =>
  async ({ workflowId, runId }: RunName, after: number): Promise<boolean> => {
    for (let next: string | null | undefined = runId; next; ) {
      const events: HistoryEvents = (await eventsOf(client, { workflowId, runId: next })) ?? [];
      const since = events.filter(({ eventTime }) => msOf(eventTime) >= after);
      if (runsNamedIn(since, 'before').length > 0) return true;
      next = since[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    }
    return false;
  };

/** The histories in which an older claim may stand, and that of the run itself as the last one. Without one of them nothing is certain: none. */
async function historiesBehind(client: Client, run: RunName): Promise<HistoryEvents[]> {
  const histories: HistoryEvents[] = [];
  const seen = new Set([run.runId]);
  const own = await eventsOf(client, run);
  if (!own) return [];
  const left = [...runsNamedIn(own, 'before')];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const events = await eventsOf(client, { ...run, runId: next });
    if (!events) return [];
    histories.push(events);
    left.push(...runsNamedIn(events, 'before'), ...runsNamedIn(events, 'after'));
  }
  return [...histories, own];
}

/** The runs that a run was reset from, or the run that it continued as. */
function runsNamedIn(events: HistoryEvents, which: 'before' | 'after'): string[] {
  return events.flatMap(({ workflowTaskFailedEventAttributes: failed, ...event }) => {
    const next = event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    // Only a reset names another run here.
    return (which === 'before' ? failed?.baseRunId : next) || [];
  });
}

async function firstClaim(client: Client, events: HistoryEvents, name: string): Promise<Claim | undefined> {
  for (const { workflowExecutionSignaledEventAttributes: signal } of events) {
    if (signal?.signalName !== claimedSignal.name) continue;
    // Rejects while the key of one of our own claims is missing.
    const [claim] = await decodeAll(client, signal.input?.payloads);
    const { name: claimed, by } = (claim ?? {}) as Partial<Claim>; // anybody may send this signal, with anything
    if (claimed === name) return { name, by: String(by) };
  }
  return undefined;
}
